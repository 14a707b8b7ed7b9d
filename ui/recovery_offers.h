// SPDX-License-Identifier: GPL-3.0-or-later
// Offers the work that a crash left unsaved, one copy at a time, the newest first. Also reports
// that autosave fails.
#pragma once

#include <QObject>
#include <vector>

#include "ui/central_area.h"
#include "ui/file_actions.h"
#include "ui/model/document/autosave.h"

namespace trainyard::ui {

class RecoveryOffers : public QObject {
  Q_OBJECT
 public:
  // `directory`: of the copies.
  RecoveryOffers(Autosave& autosave, FileActions& files, CentralArea& center,
                 const QString& directory);
  void look();

 signals:
  void recovered();  // the document holds the recovered work

 private:
  void offer_next();

  Autosave& autosave_;
  FileActions& files_;
  CentralArea& center_;
  QString directory_;
  std::vector<Recovery> recoveries_;  // not offered yet
};

}  // namespace trainyard::ui
