// SPDX-License-Identifier: GPL-3.0-or-later
// Label in one of the theme's colors and font sizes. It changes with the theme.
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
  // Shows the text in one line, whatever the width of the label. If the text does not fit, it ends
  // in "…", and the tool tip contains the full text.
  void set_elided();
  // Sets a tool tip for a label whose text was set by `set_elided`. It is shown even if the text
  // fits.
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

// Creates a label of plain text, which wraps and which the user can select and copy.
TintedLabel* paragraph(TextColor tint, QWidget* parent, const QString& text = {});

}  // namespace trainyard::ui
