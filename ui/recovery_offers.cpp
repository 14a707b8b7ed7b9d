// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/recovery_offers.h"

#include <QFileInfo>
#include <QLocale>

namespace trainyard::ui {

RecoveryOffers::RecoveryOffers(Autosave& autosave, FileActions& files, CentralArea& center,
                               const QString& directory)
    : autosave_(autosave), files_(files), center_(center), directory_(directory) {
  connect(&center.recovery_banner(), &Banner::closed, this, &RecoveryOffers::offer_next);
  connect(&autosave, &Autosave::failed, this, [this](const QString& what) {
    center_.errors().show_text(Banner::Kind::warning,
                               tr("Autosave failed: unsaved work would be lost in a crash"), what);
  });
}

void RecoveryOffers::look() {
  recoveries_ = find_recoveries(directory_);
  offer_next();
}

void RecoveryOffers::offer_next() {
  if (recoveries_.empty()) return;
  const Recovery newest = recoveries_.front();
  recoveries_.erase(recoveries_.begin());
  const QString name = newest.file.isEmpty() ? QString::fromStdString(newest.experiment.name)
                                             : QFileInfo(newest.file).fileName();
  Banner& banner = center_.recovery_banner();
  banner.show_text(Banner::Kind::warning,
                   tr("Unsaved work found: %1")
                       .arg(name.isEmpty() ? tr("an experiment that was never saved") : name),
                   tr("Trainyard was not closed properly. The autosaved copy is from %1.")
                       .arg(QLocale().toString(newest.saved, QLocale::ShortFormat)));
  banner.offer(tr("Recover"), [this, newest] {
    if (!files_.may_discard()) return false;
    center_.errors().hide();
    autosave_.recover(newest);  // reports an error if no copy of it can be written
    emit recovered();
    offer_next();
    return true;
  });
}

}  // namespace trainyard::ui
