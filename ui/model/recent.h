// SPDX-License-Identifier: GPL-3.0-or-later
// The experiments opened lately, newest first, kept in the user's settings.
#pragma once

#include <QObject>
#include <QSettings>
#include <QStringList>

namespace trainyard::ui {

class RecentFiles : public QObject {
  Q_OBJECT
 public:
  explicit RecentFiles(QObject* parent = nullptr);  // the user's settings
  explicit RecentFiles(const QString& settings_file, QObject* parent = nullptr);  // others

  QStringList files() const;  // absolute paths, at most ten; some may be gone
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
