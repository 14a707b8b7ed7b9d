// SPDX-License-Identifier: GPL-3.0-or-later
// A label in one of the theme's colours and sizes, which follows the theme by itself.
#pragma once

#include <QLabel>

namespace trainyard::ui {

enum class Tint { text, dim, ok, warning, error };

class TintedLabel : public QLabel {
  Q_OBJECT
 public:
  explicit TintedLabel(Tint tint, QWidget* parent = nullptr, double relative_size = 1,
                       bool strong = false);
  void set_tint(Tint tint);
  Tint tint() const { return tint_; }
  void set_elided();  // one line, of any width: what does not fit ends in "…", and is shown whole
                      // as the tool tip
  void set_help(
      const QString& help);  // what the tool tip of an elided label says, be it shown whole or not

  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void follow_theme();
  bool elided_ = false;
  QString help_;
  Tint tint_;
  double relative_size_;
  bool strong_;
};

// Plain text over as many lines as it needs, which can be selected and copied.
TintedLabel* paragraph(Tint tint, QWidget* parent, const QString& text = {});

}  // namespace trainyard::ui
