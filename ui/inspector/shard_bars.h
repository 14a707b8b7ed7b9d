// SPDX-License-Identifier: GPL-3.0-or-later
// Chart of the samples that each rank trains on. Each rank has a row in its color, with one bar per
// class. All bars have the same scale, so that ranks can be compared. The exact number of samples
// is in the tool tip and in the accessible description.
#pragma once

#include <QWidget>

#include "core/data/shards.h"

namespace trainyard::ui {

class ShardBars : public QWidget {
  Q_OBJECT
 public:
  explicit ShardBars(QWidget* parent = nullptr);

  void show_shards(const data::ShardTable& shards);
  const data::ShardTable& shards() const { return shards_; }
  QString text_at(
      const QPointF& place) const;  // "rank 2, class 7: 113 samples"; empty outside of bars
  // Returns the bar of a rank and class. It is empty if the rank has no sample of the class;
  // otherwise it is at least one pixel high.
  QRectF bar(std::size_t rank, std::size_t label) const;

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  std::size_t classes() const { return shards_.empty() ? 0 : shards_.front().size(); }
  double row_height() const;
  QRectF row(std::size_t rank) const;  // area of a rank's bars
  QRectF cell(std::size_t rank, std::size_t label) const;
  double label_width() const;
  double total_width() const;
  void paint_row(QPainter& painter, std::size_t rank) const;
  void paint_classes(QPainter& painter) const;

  data::ShardTable shards_;
  std::vector<std::int64_t> totals_;  // number of samples, by rank
  std::int64_t largest_ = 1;          // largest number of samples of a rank in a class
};

}  // namespace trainyard::ui
