// SPDX-License-Identifier: GPL-3.0-or-later
// The user's settings for appearance: light, dark or as the system; the projector's font scale;
// reduced motion. Stored in the settings.
#pragma once

#include <QObject>
#include <QSettings>

class QMenu;

namespace trainyard::ui {

class Appearance : public QObject {
  Q_OBJECT
 public:
  enum class Choice { system, light, dark };
  Appearance(QSettings& settings, QObject* parent = nullptr);

  void fill_menu(QMenu& menu);
  void choose(Choice choice);
  void scale(double scale);
  void reduce_motion(bool reduced);

 private:
  void apply();
  void add_kinds(QMenu& menu);
  void add_scales(QMenu& menu);

  QSettings& settings_;
  bool system_is_dark_;
};

}  // namespace trainyard::ui
