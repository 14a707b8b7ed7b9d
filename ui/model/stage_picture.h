// SPDX-License-Identifier: GPL-3.0-or-later
// Of an experiment whose model is split: who has which layers, or which part of them, and what
// crosses between them. Pure.
#pragma once

#include <QString>

#include "core/plan/plan.h"
#include "ui/model/algorithm_offers.h"

namespace trainyard::ui {

struct StagePicture {
  QString
      said;  // who has what, and how much of the time ranks idle at best; empty: nothing is split
  std::vector<std::string>
      layers;  // rank -> which it has: "0–1.3", "0–1.20 (1/4)"; none where nothing is split
  LogicalPicture picture;  // with an arrow for what a rank sends another in a step; empty where
                           // layers themselves are split, which all-reduce
};
// Of layers as pictures name them: "layers 0–1.3", "layer 2 (1/2)", "the loss"; nothing of none.
QString held_words(const std::string& layers);

StagePicture stage_picture(const experiment::Resolved& experiment, const plan::Plan& expanded);

}  // namespace trainyard::ui
