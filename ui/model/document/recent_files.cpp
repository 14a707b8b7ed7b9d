// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/document/recent_files.h"

#include <QFileInfo>

namespace trainyard::ui {
namespace {

constexpr int kMaximum = 10;
constexpr const char* kKey = "recent_files";

QString absolute(const QString& file) { return QFileInfo(file).absoluteFilePath(); }

}  // namespace

RecentFiles::RecentFiles(QObject* parent)
    : QObject(parent),
      settings_(QSettings::IniFormat, QSettings::UserScope, "trainyard", "trainyard") {}

RecentFiles::RecentFiles(const QString& settings_file, QObject* parent)
    : QObject(parent), settings_(settings_file, QSettings::IniFormat) {}

QStringList RecentFiles::files() const { return settings_.value(kKey).toStringList(); }

void RecentFiles::add(const QString& file) {
  QStringList all = files();
  all.removeAll(absolute(file));
  all.prepend(absolute(file));
  set(all.mid(0, kMaximum));
}

void RecentFiles::remove(const QString& file) {
  QStringList all = files();
  if (all.removeAll(absolute(file)) > 0) set(all);
}

void RecentFiles::clear() { set({}); }

void RecentFiles::set(const QStringList& files) {
  settings_.setValue(kKey, files);
  settings_.sync();  // writes the file, which other windows read
  emit changed();
}

}  // namespace trainyard::ui
