// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_metrics.h"

#include <QFontMetrics>
#include <algorithm>

#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kMaxLetters = 34, kMinLetters = 14;  // limits of a name's width in a column
constexpr int kMinRow = 3, kMinColumn = 40;        // minimum sizes in an overview

// Measures the widths of the texts in the model view.
class Measuring {
 public:
  explicit Measuring(const ModelPicture& picture) : picture_(picture) {}

  int column() const {
    const int letter = metrics_.averageCharWidth(), pad = pixels(16);
    int names = 0, heads = 0;
    for (const ModelNode& node : picture_.nodes) names = std::max(names, width(node.name));
    for (const ModelColumn& column : picture_.columns)
      heads = std::max({heads,
                        strong_.horizontalAdvance(column.title) +
                            (column.rank < 0 ? 0 : width("000") + metrics_.height()),
                        width(column_text(column))});
    return std::clamp(std::max(names, heads), kMinLetters * letter, kMaxLetters * letter) + pad;
  }

  int gutter() const {
    int widest = 0;
    for (const ModelGroup& group : picture_.groups)
      widest = std::max({widest, width(group.title), width(group_text(group))});
    return widest == 0 ? pixels(8) : widest + pixels(24);
  }

  std::array<int, kFigures> figures() const {
    std::array<int, kFigures> widths{};
    const auto headings = figure_headings();
    for (std::size_t f = 0; f < widths.size(); ++f) widths[f] = width(headings[f]);
    for (const ModelNode& node : picture_.nodes) {
      const auto words = figures_of(node);
      for (std::size_t f = 0; f < widths.size(); ++f)
        widths[f] = std::max(widths[f], width(words[f]));
    }
    for (int& one : widths) one += pixels(16);
    widths[static_cast<std::size_t>(Figure::share)] = width("100.0 %") + pixels(96);
    return widths;
  }

  int kept() const {
    int widest = 0;
    for (const ModelNode& node : picture_.nodes) widest = std::max(widest, width(kept_text(node)));
    return widest == 0 ? 0 : std::max(widest, width(kept_heading())) + pixels(24);
  }

  int line() const { return metrics_.height(); }

 private:
  int width(const QString& words) const { return metrics_.horizontalAdvance(words); }
  const ModelPicture& picture_;
  QFontMetrics metrics_{Theme::instance().font(kModelLetters)},
      strong_{Theme::instance().font(kModelLetters, true)};
};

}  // namespace

int pixels(double length) { return Theme::instance().pixels(length); }

ModelMetrics model_metrics(const ModelPicture& picture, const QSize& room, bool overview) {
  const Measuring measured(picture);
  ModelMetrics metrics;
  metrics.head = 2 * measured.line() + pixels(8);
  metrics.lane = pixels(18);
  metrics.row = measured.line() + pixels(8);
  metrics.gap = pixels(9);
  if (overview) {
    const int pitch = std::clamp((room.height() - metrics.head) / (picture.count() + 3), kMinRow,
                                 metrics.row + metrics.gap);
    metrics.gap = std::max(1, pitch / 4);
    metrics.row = std::max(2, pitch - metrics.gap);
    metrics.column =
        std::max(pixels(kMinColumn),
                 std::min(room.width() / std::max(static_cast<int>(picture.columns.size()), 1),
                          pixels(220)));
    metrics.lane = std::min(metrics.lane, metrics.column / 4);
    return metrics;
  }
  metrics.column = measured.column() + 2 * metrics.lane;
  metrics.gutter = measured.gutter();
  metrics.figures = measured.figures();
  metrics.kept = measured.kept();
  return metrics;
}

}  // namespace trainyard::ui
