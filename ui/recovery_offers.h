// SPDX-License-Identifier: GPL-3.0-or-later
// Offers to recover unsaved work after a crash: the autosaved copies, one at a time, newest first.
// Also reports when autosave fails.
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
  // `directory`: directory in which autosave stores its copies.
  RecoveryOffers(Autosave& autosave, FileActions& files, CentralArea& center,
                 const QString& directory);
  void look();

 signals:
  void recovered();  // recovered work was loaded into the document

 private:
  void offer_next();

  Autosave& autosave_;
  FileActions& files_;
  CentralArea& center_;
  QString directory_;
  std::vector<Recovery> recoveries_;  // copies that were not offered yet
};

}  // namespace trainyard::ui
