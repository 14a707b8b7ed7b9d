// SPDX-License-Identifier: GPL-3.0-or-later
// Section of the inspector: a heading, and content below it that the heading collapses.
#pragma once

#include <QToolButton>
#include <QWidget>

namespace trainyard::ui {

class Section : public QWidget {
  Q_OBJECT
 public:
  Section(const QString& title, const QString& icon, QWidget* content, QWidget* parent = nullptr);
  void set_open(bool open) { heading_->setChecked(open); }

 private:
  void follow_theme();
  QToolButton* heading_;
};

}  // namespace trainyard::ui
