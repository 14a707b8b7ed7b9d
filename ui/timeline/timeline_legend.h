// SPDX-License-Identifier: GPL-3.0-or-later
// Legend of a timeline's colors, in as many rows as needed.
#pragma once

#include <QWidget>
#include <optional>
#include <vector>

namespace trainyard::ui {

class TimelineLegend : public QWidget {
  Q_OBJECT
 public:
  explicit TimelineLegend(QWidget* parent = nullptr);
  void show_held_back(bool shown);  // shown: include the entry for time held back
  // Legend of a pipeline's cells. If it is set, it replaces the legend of ops. `has_weight_pass`:
  // true if weight gradients are a separate pass. `chunks`: number of stages per rank.
  struct Passes {
    bool has_weight_pass = false;
    int chunks = 1;
    bool operator==(const Passes&) const = default;
  };
  void show_passes(const std::optional<Passes>& passes);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {0, fontMetrics().height() + 2}; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Entry {
    QString text;
    QColor color;
    Qt::BrushStyle hatching = Qt::SolidPattern;  // solid: no hatching
  };
  std::vector<Entry> entries() const;
  std::vector<Entry> of_ops() const;
  std::vector<Entry> of_passes() const;
  static std::vector<QRect> boxes(const std::vector<Entry>& all, const QFontMetrics& metrics,
                                  int width);
  static int width_of(const Entry& entry, const QFontMetrics& metrics);
  void tell();

  bool held_back_ = false;
  std::optional<Passes> passes_;
};

}  // namespace trainyard::ui
