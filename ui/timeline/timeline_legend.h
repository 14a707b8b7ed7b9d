// SPDX-License-Identifier: GPL-3.0-or-later
// What the colours of a timeline mean, in as many rows as they need.
#pragma once

#include <QWidget>
#include <optional>
#include <vector>

namespace trainyard::ui {

class TimelineLegend : public QWidget {
  Q_OBJECT
 public:
  explicit TimelineLegend(QWidget* parent = nullptr);
  void show_held_back(bool shown);  // whether that has an entry
  // Of a pipeline's cells instead: whether gradients of weights are a pass of their own, and how
  // many stages a rank has. Nothing: of ops.
  struct Passes {
    bool weights_apart = false;
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
    QColor colour;
    Qt::BrushStyle hatching = Qt::SolidPattern;  // solid: none
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
