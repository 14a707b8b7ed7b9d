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
  // Shows the text in one line of any width. A text that is too long ends in "…", and the tool tip
  // has the full text.
  void set_elided();
  // sets the tool tip of an elided label, shown even if its text is not elided
  void set_help(const QString& help);

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
