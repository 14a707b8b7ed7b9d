// SPDX-License-Identifier: GPL-3.0-or-later
// Recently opened experiments, newest first, stored in the user's settings.
#pragma once

#include <QObject>
#include <QSettings>
#include <QStringList>

namespace trainyard::ui {

class RecentFiles : public QObject {
  Q_OBJECT
 public:
  explicit RecentFiles(QObject* parent = nullptr);  // the user's settings
  // another settings file
  explicit RecentFiles(const QString& settings_file, QObject* parent = nullptr);

  QStringList files() const;  // absolute paths, at most ten; some files may no longer exist
  void add(const QString& file);
  void remove(const QString& file);
  void clear();

 signals:
  void changed();

 private:
  void set(const QStringList& files);

  QSettings settings_;
};

}  // namespace trainyard::ui
