// SPDX-License-Identifier: GPL-3.0-or-later
// Appearance of the workbench: the Fusion style with a light or dark palette, named colors for
// custom painting, and the colors of ranks and runs. The application has one theme.
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

// Unit of sizes, in pixels at scale 1. Margins and widths are multiples of this unit.
inline constexpr int kGrid = 8;

// Named colors for custom painting. Text on `canvas`, `card` and `tile` has a contrast of at least
// 4.5 in both themes.
struct Colors {
  QColor window;     // behind panels
  QColor canvas;     // behind drawings and charts
  QColor card;       // hosts, cards of the welcome page
  QColor tile;       // devices on a card
  QColor border;     // thin lines around cards, fields and charts
  QColor grid;       // dots of the canvas, grid lines of a chart
  QColor link;       // idle links
  QColor text, dim;  // dim: color of secondary text
  QColor accent;     // selection, focus, the primary button
  QColor on_accent;  // text on the accent
  QColor selection;  // tint of the accent, behind selected items
  QColor ok, warning, error;
};

QColor mixed(const QColor& a, const QColor& b, double share_of_b);
double contrast(const QColor& a, const QColor& b);  // 1 to 21, as WCAG 2.1 defines it

const Colors& colors();  // colors of the application's theme

// Sets the style sheet of a widget and updates it when the theme changes. `sheet` generates it from
// the theme's colors. The sheet must name colors: without any, the widget keeps the palette with
// which it was first shown.
void set_sheet(QWidget* widget, const std::function<QString(const Colors&)>& sheet);

class Theme : public QObject {
  Q_OBJECT
 public:
  enum class Kind { light, dark };

  static Theme& instance();

  // Sets style, palette and font of the application. `scale` is 1 to 3 (projector mode). Emits
  // `changed`.
  void apply(Kind kind, double scale = 1);
  void set_reduced_motion(bool reduced);

  Kind kind() const { return kind_; }
  bool dark() const { return kind_ == Kind::dark; }
  double scale() const { return scale_; }
  bool reduced_motion() const { return reduced_motion_; }  // true if animations are disabled
  const Colors& colors() const;
  int pixels(double at_scale_one) const;  // scales a length

  // Returns the color of the rank or run with that index, the same in every view. The colors are
  // distinct for color-blind users, ordered by contrast, and never gray. They repeat after eight;
  // combined with dash patterns, 24 lines are distinct.
  QColor series_color(int index) const;
  // Returns a pen with the color and dash pattern of the rank or run with that index.
  QPen series_pen(int index, double width = 1.5) const;
  // Returns the color of a component of a total, such as waiting time in a step. It differs from
  // the colors of ranks, runs and other components. Colors repeat after seven.
  QColor component_color(int index) const;

  QFont font(double relative_size = 1,
             bool strong = false) const;  // the application's font times `relative_size`
  QFont fixed_font() const;               // monospaced, of the same size

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
