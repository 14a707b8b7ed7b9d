// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot_scale.h"

#include <QLocale>
#include <QStringList>
#include <algorithm>
#include <cmath>

#include "core/base/units.h"

namespace trainyard::ui {
namespace {

constexpr double kFlat = 1e-5;
// If a range has this number of intervals, each is at most half as long as the range, so that the
// range contains two ticks.
constexpr int kSurelyTwo = 8;

// Formats a tick with digit grouping (12,000) and only the decimals that the interval needs.
QString tick_label(double value, double interval) {
  if (std::abs(value) < interval * 1e-6) value = 0;
  const double greatest = std::max(std::abs(value), interval);
  if (greatest >= 1e7 || greatest < 1e-3) return QString::number(value, 'g', 6);
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(interval) - 1e-9)));
  return QLocale::c().toString(value, 'f', decimals);
}

QString log_label(double value) {
  if (value >= 1e-3 && value < 1e5) return QLocale::c().toString(value, 'g', 6);
  return QString::number(value, 'e', 0).replace("e-0", "e-").replace("e+0", "e").replace("e+", "e");
}

// Returns ticks at every n-th power of ten in `range`, with n = `every`. `fine`: adds ticks at 2
// and 5 times each power. `range` holds decimal logarithms.
std::vector<Tick> decade_ticks(Span range, double shift, int every, bool fine) {
  std::vector<Tick> ticks;
  for (double decade = std::floor(range.low); decade <= range.high + 1e-6; decade += every)
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (digit > 1 && !fine) break;
      const double at = decade + std::log10(digit);
      if (at >= range.low - 1e-6 && at <= range.high + 1e-6)
        ticks.push_back({at + shift, log_label(digit * std::pow(10, decade))});
    }
  return ticks;
}

}  // namespace

AxisUnit axis_unit(const QString& unit, double greatest) {
  static const QStringList prefixable{"B", "B/s", "bit/s", "s"};
  if (!prefixable.contains(unit) || !std::isfinite(greatest) || greatest <= 0) return {1, unit};
  static const char* const prefixes[] = {"n", "µ", "m", "", "k", "M", "G", "T", "P"};
  const int least = unit == "s" ? -3 : 0, most = unit == "s" ? 0 : 5;
  const int thousands =
      std::clamp(static_cast<int>(std::floor(std::log10(greatest) / 3 + 1e-9)), least, most);
  return {std::pow(1000.0, thousands), QString::fromUtf8(prefixes[thousands + 3]) + unit};
}

AxisUnit x_axis_unit(XAxis axis, double width) {
  if (axis == XAxis::step) return {1, "step"};
  if (axis == XAxis::passes) return {1, "passes over the data"};
  if (axis == XAxis::samples)
    return width >= 1e7 ? AxisUnit{1e6, "million samples"} : AxisUnit{1, "samples"};
  if (axis == XAxis::bytes) {
    const AxisUnit scaled = axis_unit("B", width);
    return {scaled.factor, scaled.text + " sent"};
  }
  const AxisUnit unit = width > 3 * 3600           ? AxisUnit{3600, "h"}
                        : width > 5 * 60           ? AxisUnit{60, "min"}
                        : axis == XAxis::simulated ? axis_unit("s", width)
                                                   : AxisUnit{1, "s"};
  return {unit.factor,
          (axis == XAxis::simulated ? "simulated time (" : "wall time (") + unit.text + ")"};
}

double min_width(XAxis axis) {
  switch (axis) {
    case XAxis::step: return 10;
    case XAxis::passes: return 0.01;
    // simulated times may be tiny, because the drawn devices may have any speed
    case XAxis::simulated: return 1e-6;
    default: return 1;
  }
}

double nice_interval(double width, int about) {
  const double rough = width / std::max(about, 1),
               power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power * (1 + 1e-9)) return factor * power;
  return 10 * power;
}

Span value_range(Span data) {
  // if all values are equal, or differ only by rounding, the range includes zero
  if (data.width() <= kFlat * std::max(std::abs(data.low), std::abs(data.high)))
    data = data.high > 0 ? Span{0, data.high} : data.low < 0 ? Span{data.low, 0} : Span{0, 1};
  const bool from_zero = data.low >= 0 && data.low < 0.4 * data.high;
  const double margin = 0.04 * data.width(), grid = nice_interval(data.width(), 5) / 2;
  const double low = from_zero ? 0 : std::floor((data.low - margin) / grid) * grid;
  return {low, std::ceil((data.high + margin) / grid) * grid};
}

Span log_range(Span data) {
  const Span range{std::floor(std::log10(data.low) + 1e-9),
                   std::ceil(std::log10(data.high) - 1e-9)};
  return range.width() > 0 ? range : Span{range.low - 1, range.high + 1};
}

Span x_range(Span data, double min_width) {
  const double width = std::max(data.width(), min_width), grid = nice_interval(width, 5) / 5;
  return {data.low, data.low + std::ceil(width * 1.015 / grid) * grid};
}

std::vector<Tick> linear_ticks(Span range, int about, double factor) {
  const double low = range.low / factor, high = range.high / factor;
  std::vector<Tick> ticks;
  do {
    ticks.clear();
    const double interval = nice_interval(high - low, about);
    for (double k = std::ceil(low / interval - 1e-6); k * interval <= high + interval * 1e-6; ++k)
      ticks.push_back({k * interval * factor, tick_label(k * interval, interval)});
  } while (ticks.size() < 2 && ++about <= kSurelyTwo);
  return ticks;
}

// Returns ticks at powers of ten, and at 2 and 5 times each power if there is room.
std::vector<Tick> log_ticks(Span range, int about, double factor) {
  const double shift = std::log10(factor), low = range.low - shift, high = range.high - shift;
  if (high - low < 0.7) {  // for a part of a decade, uses ticks as on a linear scale
    std::vector<Tick> ticks;
    for (const Tick& tick : linear_ticks({std::pow(10, low), std::pow(10, high)}, about, 1))
      if (tick.at > 0) ticks.push_back({std::log10(tick.at) + shift, tick.label});
    return ticks;
  }
  const int every = std::max(1, static_cast<int>(std::ceil((high - low) / std::max(about, 1))));
  const bool fine = (high - low) * 3 <= about + 1;
  std::vector<Tick> ticks = decade_ticks({low, high}, shift, every, fine);
  for (int closer = every - 1; ticks.size() < 2 && closer > 0; --closer)
    ticks = decade_ticks({low, high}, shift, closer, fine);
  return ticks.size() < 2 ? decade_ticks({low, high}, shift, 1, true) : ticks;
}

QString number_text(double value) {
  if (!std::isfinite(value)) return QString::fromStdString(base::number_text(value, ""));
  const double size = std::abs(value);
  if (size >= 1e5 && size < 1e15 && value == std::floor(value))
    return QLocale::c().toString(value, 'f', 0);
  return QString::number(value, 'g', 5);
}

}  // namespace trainyard::ui
