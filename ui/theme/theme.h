// SPDX-License-Identifier: GPL-3.0-or-later
// How the workbench looks: the Fusion style with a light or a dark palette, named colours for what
// is painted by hand, and the colours of ranks and runs. One theme holds for the whole application.
#pragma once

#include <QColor>
#include <QFont>
#include <QObject>
#include <QPalette>
#include <QPen>
#include <QString>
#include <functional>

class QWidget;

namespace trainyard::ui {

// Sizes are multiples of this many pixels, at a scale of 1.
inline constexpr int kGrid = 8;

// Named colours for custom painting. Text on `canvas`, `card` and `tile` has a contrast of at
// least 4.5 in both kinds.
struct Colours {
  QColor window;     // behind panels
  QColor canvas;     // behind drawings and charts
  QColor card;       // hosts, cards of the welcome page
  QColor tile;       // devices on a card
  QColor border;     // thin lines around cards, fields and charts
  QColor grid;       // dots of the canvas, grid lines of a chart
  QColor link;       // links at rest
  QColor text, dim;  // dim: secondary text
  QColor accent;     // the one: selection, focus, the primary button
  QColor on_accent;  // text on the accent
  QColor selection;  // a wash of the accent, under what is selected
  QColor ok, warning, error;
};

QColor mixed(const QColor& a, const QColor& b, double share_of_b);
double contrast(const QColor& a, const QColor& b);  // 1 to 21, as WCAG 2.1 defines it

const Colours& colours();  // of the application's theme

// A style sheet made of the theme's colours, and made anew when they change: a widget with a sheet
// that names no colour keeps those of the palette that it had when it was first shown.
void set_sheet(QWidget* widget, const std::function<QString(const Colours&)>& sheet);

class Theme : public QObject {
  Q_OBJECT
 public:
  enum class Kind { light, dark };

  static Theme& instance();

  // Sets style, palette and font of the application. `scale` is 1 to 3: the projector mode. Emits
  // `changed`.
  void apply(Kind kind, double scale = 1);
  void set_reduced_motion(bool reduced);

  Kind kind() const { return kind_; }
  bool dark() const { return kind_ == Kind::dark; }
  double scale() const { return scale_; }
  bool reduced_motion() const { return reduced_motion_; }  // nothing may move by itself
  const Colours& colours() const;
  int pixels(double at_scale_one) const;  // of a length, at this scale

  // The colour of rank or run `index` in every view: safe for colour-blind eyes, ordered for
  // contrast, never grey. After eight the colours repeat; with the dash pattern 24 lines can be
  // told apart.
  QColor series_colour(int index) const;
  QPen series_pen(int index, double width = 1.5) const;  // the colour with its dash pattern
  // The colour of a part of a whole, such as the waiting in a step: none of a rank or run, and no
  // other part's. After five they repeat.
  QColor part_colour(int index) const;

  QFont font(double relative_size = 1,
             bool strong = false) const;  // of the application, times `relative_size`
  QFont fixed_font() const;               // as large, with letters of one width

 signals:
  void changed();

 private:
  Theme();

  Kind kind_ = Kind::light;
  double scale_ = 1;
  bool reduced_motion_ = false;
  QFont base_font_;
};

}  // namespace trainyard::ui
