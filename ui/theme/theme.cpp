// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/theme.h"

#include <QApplication>
#include <QFontDatabase>
#include <QFontInfo>
#include <QProxyStyle>
#include <QStyleOptionToolButton>
#include <QWidget>
#include <algorithm>
#include <array>
#include <cmath>

namespace trainyard::ui {
namespace {

const Colors kLight{.window = "#f2f3f5",
                    .canvas = "#fafbfc",
                    .card = "#ffffff",
                    .tile = "#f4f6f8",
                    .border = "#c9cfd7",
                    .grid = "#dde1e6",
                    .link = "#8792a0",
                    .text = "#1b222a",
                    .dim = "#5a6572",
                    .accent = "#4353c9",
                    .on_accent = "#ffffff",
                    .selection = "#e6e9fb",
                    .ok = "#1a7f4b",
                    .warning = "#9a6200",
                    .error = "#c0322b"};

const Colors kDark{.window = "#22262c",
                   .canvas = "#1a1d22",
                   .card = "#2a2f37",
                   .tile = "#333a44",
                   .border = "#495260",
                   .grid = "#2f353e",
                   .link = "#7d8998",
                   .text = "#e7ebf0",
                   .dim = "#a6b0bd",
                   .accent = "#93a0ff",
                   .on_accent = "#14171c",
                   .selection = "#343b61",
                   .ok = "#58c98d",
                   .warning = "#f0b95a",
                   .error = "#ff8078"};

// Series colors after Okabe and Ito (2008). They are darker on light backgrounds and lighter on
// dark ones. Brown replaces yellow, and gray is omitted.
const std::array<QColor, 8> kLightSeries{"#0068a8", "#d55e00", "#00805c", "#b0478f",
                                         "#b07a00", "#2e94cf", "#8b2f3a", "#5e7a12"};
const std::array<QColor, 8> kDarkSeries{"#52aef0", "#ff8b45", "#2fc898", "#e88cc6",
                                        "#f0c04c", "#9bdcff", "#f08a92", "#b3d15c"};

// Colors for the components of a total, such as the parts of a step. Each is distinct from all
// series colors and from the other components (CIE76 distance at least 20). Consecutive colors are
// also distinct for users with red or green color blindness.
const std::array<QColor, 7> kLightParts{"#7028b0", "#e5276a", "#149da8", "#8f5320",
                                        "#1d2456", "#4a5fe0", "#1f9a20"};
const std::array<QColor, 7> kDarkParts{"#a878ff", "#ff5c8f", "#5ff0ea", "#bd8259",
                                       "#fff08a", "#6f8cff", "#5fd94a"};

const std::array<QList<qreal>, 6> kDashes{
    {{}, {6, 3}, {1.5, 2.5}, {6, 2.5, 1.5, 2.5}, {10, 3}, {6, 2, 1.5, 2, 1.5, 2}}};

void set_disabled(QPalette& palette, const Colors& c) {
  const QColor faint = mixed(c.dim, c.window, 0.45);
  for (const auto role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::PlaceholderText})
    palette.setColor(QPalette::Disabled, role, faint);
  palette.setColor(QPalette::Disabled, QPalette::Highlight, c.border);
}

QPalette palette_of(const Colors& c, bool dark) {
  QPalette p;
  const std::pair<QPalette::ColorRole, QColor> roles[] = {
      {QPalette::Window, c.window},
      {QPalette::WindowText, c.text},
      {QPalette::Base, dark ? c.canvas : c.card},
      {QPalette::AlternateBase, c.tile},
      {QPalette::ToolTipBase, c.card},
      {QPalette::ToolTipText, c.text},
      {QPalette::Text, c.text},
      {QPalette::PlaceholderText, c.dim},
      {QPalette::Button, dark ? c.tile : c.window},
      {QPalette::ButtonText, c.text},
      {QPalette::BrightText, c.error},
      {QPalette::Light, mixed(c.window, Qt::white, dark ? 0.12 : 0.8)},
      {QPalette::Midlight, mixed(c.window, Qt::white, dark ? 0.06 : 0.4)},
      {QPalette::Mid, c.border},
      {QPalette::Dark, mixed(c.border, Qt::black, dark ? 0.4 : 0.2)},
      {QPalette::Shadow, mixed(c.border, Qt::black, 0.6)},
      {QPalette::Highlight, c.accent},
      {QPalette::HighlightedText, c.on_accent},
      {QPalette::Link, c.accent},
      {QPalette::LinkVisited, c.accent}};
  for (const auto& [role, color] : roles) p.setColor(role, color);
  set_disabled(p, c);
  return p;
}

double linear(double channel) {
  return channel <= 0.03928 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}
double luminance(const QColor& c) {
  return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}

// Style that scales icons and check marks with the font. The Fusion style derives their sizes from
// the screen.
class ScaledStyle : public QProxyStyle {
 public:
  explicit ScaledStyle(double scale) : QProxyStyle("Fusion"), scale_(scale) {}
  int pixelMetric(PixelMetric metric, const QStyleOption* option,
                  const QWidget* widget) const override {
    const int size = QProxyStyle::pixelMetric(metric, option, widget);
    switch (metric) {
      case PM_SmallIconSize:
      case PM_ButtonIconSize:
      case PM_TabBarIconSize:
      case PM_TitleBarButtonIconSize:
      case PM_IndicatorWidth:
      case PM_IndicatorHeight:
      case PM_ScrollBarExtent:
      case PM_SliderLength:
      case PM_SliderThickness:
      case PM_SliderControlThickness:
      case PM_MenuButtonIndicator:
      case PM_ToolBarExtensionExtent:
      case PM_TreeViewIndentation:
        return qRound(size * (metric == PM_ScrollBarExtent ? std::sqrt(scale_) : scale_));
      default: return size;
    }
  }
  // Outlines check boxes: Fusion's outline is darker than the window, which is invisible in the
  // dark theme. Check boxes of item views are painted here, too.
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    if (element != PE_IndicatorCheckBox || !Theme::instance().dark()) return;
    const Colors& colors = Theme::instance().colors();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setBrush(Qt::NoBrush);
    painter->setPen(option->state & State_Enabled ? colors.dim : colors.border);
    painter->drawRoundedRect(QRectF(option->rect).adjusted(0.5, 0.5, -0.5, -0.5), 2, 2);
    painter->restore();
  }
  // Paints a tool button with its icon and text centered as one unit. The button may be wider than
  // its content, because its text may change.
  void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                   const QWidget* widget) const override {
    const auto* button = qstyleoption_cast<const QStyleOptionToolButton*>(option);
    if (element != CE_ToolButtonLabel || !button ||
        button->toolButtonStyle != Qt::ToolButtonTextBesideIcon || button->icon.isNull())
      return QProxyStyle::drawControl(element, option, painter, widget);
    QStyleOptionToolButton inner = *button;
    const int content = button->iconSize.width() + kIconGap +
                        button->fontMetrics.size(Qt::TextShowMnemonic, button->text).width();
    inner.rect.setLeft(inner.rect.left() + std::max(0, (button->rect.width() - content) / 2));
    QProxyStyle::drawControl(element, &inner, painter, widget);
  }

 private:
  static constexpr int kIconGap = 4;  // distance between icon and text, as in Qt's own styles
  double scale_;
};

}  // namespace

QColor mixed(const QColor& a, const QColor& b, double share_of_b) {
  const auto channel = [&](float x, float y) {
    return static_cast<float>(x + (y - x) * share_of_b);
  };
  return QColor::fromRgbF(channel(a.redF(), b.redF()), channel(a.greenF(), b.greenF()),
                          channel(a.blueF(), b.blueF()));
}

double contrast(const QColor& a, const QColor& b) {
  const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});
  return (lighter + 0.05) / (darker + 0.05);
}

void set_sheet(QWidget* widget, const std::function<QString(const Colors&)>& sheet) {
  const auto apply = [widget, sheet] { widget->setStyleSheet(sheet(Theme::instance().colors())); };
  QObject::connect(&Theme::instance(), &Theme::changed, widget, apply);
  apply();
}

Theme::Theme() : base_font_(QApplication::font()) {
  if (base_font_.pointSizeF() < 9.5) base_font_.setPointSizeF(9.5);
}

Theme& Theme::instance() {
  static Theme theme;
  return theme;
}

void Theme::apply(Kind kind, double scale) {
  kind_ = kind;
  scale_ = std::clamp(scale, 1.0, 3.0);
  QApplication::setStyle(new ScaledStyle(scale_));
  QApplication::setPalette(palette_of(colors(), dark()));
  QApplication::setFont(font());
  emit changed();
}

void Theme::set_reduced_motion(bool reduced) {
  if (reduced == reduced_motion_) return;
  reduced_motion_ = reduced;
  emit changed();
}

const Colors& colors() { return Theme::instance().colors(); }

const Colors& Theme::colors() const { return dark() ? kDark : kLight; }

int Theme::pixels(double at_scale_one) const { return qRound(at_scale_one * scale_); }

QColor Theme::series_color(int index) const {
  const auto& series = dark() ? kDarkSeries : kLightSeries;
  return series[static_cast<std::size_t>(std::max(index, 0)) % series.size()];
}

QColor Theme::component_color(int index) const {
  const auto& parts = dark() ? kDarkParts : kLightParts;
  return parts[static_cast<std::size_t>(std::max(index, 0)) % parts.size()];
}

QPen Theme::series_pen(int index, double width) const {
  QPen pen(series_color(index), width, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin);
  const auto& dashes = kDashes[static_cast<std::size_t>(std::max(index, 0)) / 4 % kDashes.size()];
  if (!dashes.isEmpty()) pen.setDashPattern(dashes);
  return pen;
}

QFont Theme::font(double relative_size, bool strong) const {
  QFont font = base_font_;
  font.setPointSizeF(base_font_.pointSizeF() * scale_ * relative_size);
  if (strong) font.setWeight(QFont::DemiBold);
  return font;
}

// Returns the platform's fixed font. The style hint makes Qt substitute a monospaced font if that
// font is not installed.
QFont Theme::fixed_font() const {
  QFont fixed = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  fixed.setStyleHint(QFont::Monospace);
  fixed.setFixedPitch(true);
  if (!QFontInfo(fixed).fixedPitch()) fixed.setFamily("monospace");
  fixed.setPointSizeF(font().pointSizeF());
  return fixed;
}

}  // namespace trainyard::ui
