// SPDX-License-Identifier: GPL-3.0-or-later
// Label in one of the theme's colors and sizes; follows the theme.
#pragma once

#include <QLabel>

namespace trainyard::ui {

enum class TextColor { text, dim, ok, warning, error };

class TintedLabel : public QLabel {
  Q_OBJECT
 public:
  explicit TintedLabel(TextColor tint, QWidget* parent = nullptr, double relative_size = 1,
                       bool strong = false);
  void set_tint(TextColor tint);
  TextColor tint() const { return tint_; }
  // one line of any width: elided text ends in "…" and is shown in full as the tool tip
  void set_elided();
  void set_help(const QString& help);  // tool tip of an elided label, shown even if its text fits

  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void follow_theme();
  bool elided_ = false;
  QString help_;
  TextColor tint_;
  double relative_size_;
  bool strong_;
};

// Returns a label of wrapped plain text, which can be selected and copied.
TintedLabel* paragraph(TextColor tint, QWidget* parent, const QString& text = {});

}  // namespace trainyard::ui
