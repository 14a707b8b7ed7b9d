// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_geometry.h"

#include <gtest/gtest.h>

namespace trainyard::ui {
namespace {

// Picture with `nodes` nodes in two columns: the first half in the first, the others in the second.
ModelPicture staircase(int nodes) {
  ModelPicture picture;
  picture.nodes.resize(static_cast<std::size_t>(nodes));
  picture.columns.resize(2);
  for (int n = 0; n < nodes; ++n) picture.owners.push_back(2 * n < nodes ? 0 : 1);
  return picture;
}

class ModelGeometryTest : public testing::Test {
 protected:
  ModelMetrics metrics_{.gutter = 50,
                        .row = 20,
                        .gap = 8,
                        .column = 100,
                        .lane = 16,
                        .head = 40,
                        .figures = {60, 50, 40, 30, 20, 10},
                        .kept = 0};
  ModelGeometry geometry_{staircase(6), metrics_};
};

TEST_F(ModelGeometryTest, is_a_staircase_from_the_input_to_the_loss) {
  for (int n = -1; n < 6; ++n) {
    EXPECT_GT(geometry_.node_rect(n + 1).top(), geometry_.node_rect(n).bottom());
    EXPECT_GE(geometry_.node_rect(n + 1).left(), geometry_.node_rect(n).left());
  }
  EXPECT_EQ(geometry_.node_rect(-1).left(), geometry_.node_rect(0).left())
      << "the input is with the first";
  EXPECT_EQ(geometry_.node_rect(6).left(), geometry_.node_rect(5).left())
      << "the loss with the last";
  EXPECT_EQ(geometry_.node_rect(3).left() - geometry_.node_rect(2).left(), 100);
  EXPECT_LT(geometry_.node_rect(6).bottom(), geometry_.whole().height());
  EXPECT_EQ(geometry_.whole().width(), 50 + 200 + 210);
}

TEST_F(ModelGeometryTest, finds_nodes_and_columns_by_position) {
  for (int n = 0; n < 6; ++n) {
    EXPECT_EQ(geometry_.node_at(geometry_.node_rect(n).center()), n);
    EXPECT_EQ(geometry_.row_at(geometry_.node_rect(n).center().y()), n);
  }
  EXPECT_EQ(geometry_.node_at(geometry_.node_rect(-1).center()), -1) << "the input is not a layer";
  EXPECT_EQ(geometry_.node_at({10, geometry_.node_rect(2).center().y()}), -1) << "in the gutter";
  EXPECT_EQ(geometry_.column_at(49), -1);
  EXPECT_EQ(geometry_.column_at(50), 0);
  EXPECT_EQ(geometry_.column_at(249), 1);
  EXPECT_EQ(geometry_.column_at(250), -1) << "the figures begin here";
  EXPECT_EQ(geometry_.row_at(-1000), -1);
  EXPECT_EQ(geometry_.row_at(100000), 6);
  const RowSpan rows =
      geometry_.rows_between(geometry_.node_rect(1).top(), geometry_.node_rect(3).bottom());
  EXPECT_EQ(rows.first, 1);
  EXPECT_EQ(rows.last, 3);
}

TEST_F(ModelGeometryTest, connects_each_node_to_the_next) {
  for (int n = -1; n < 6; ++n) {
    const QPolygonF step = geometry_.step(n);
    EXPECT_NEAR(step.first().x(), geometry_.node_rect(n).center().x(), 1);
    EXPECT_NEAR(step.last().x(), geometry_.node_rect(n + 1).center().x(), 1);
    EXPECT_LT(step.first().y(), step.last().y());
    EXPECT_EQ(step.size(), n == 2 ? 4 : 2) << "straight lines within a column";
  }
}

TEST_F(ModelGeometryTest, draws_sums_and_ties_beside_the_nodes) {
  for (const auto& [from, to] : {std::pair{0, 2}, {1, 4}}) {
    const QPolygonF sum = geometry_.addition(from, to), tie = geometry_.tie(to, from);
    for (const QPointF& point : sum) EXPECT_GE(point.x(), geometry_.node_rect(from).right());
    EXPECT_NEAR(sum.last().y(), geometry_.node_rect(to).center().y(), 1);
    for (const QPointF& point : tie) EXPECT_LE(point.x(), geometry_.node_rect(to).left() + 1);
    EXPECT_NEAR(tie.last().y(), geometry_.node_rect(from).center().y(), 1);
  }
  EXPECT_NEAR(geometry_.addition(1, 4).last().x(), geometry_.node_rect(4).left(), 1)
      << "arrows end at the side of their origin";
  EXPECT_NEAR(geometry_.tie(4, 1).last().x(), geometry_.node_rect(1).right(), 1);
}

TEST(EmptyModelGeometry, has_no_items) {
  const ModelGeometry geometry;
  EXPECT_EQ(geometry.node_at({5, 5}), -1);
  EXPECT_EQ(geometry.column_at(5), -1);
  EXPECT_TRUE(geometry.whole().isEmpty());
}

}  // namespace
}  // namespace trainyard::ui
