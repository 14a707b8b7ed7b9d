// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/topology_tree.h"

#include <gtest/gtest.h>

#include <QAbstractItemDelegate>
#include <QHeaderView>
#include <QIcon>
#include <QImage>
#include <QPixmap>
#include <QScrollBar>
#include <QStyleOptionViewItem>
#include <QTest>
#include <algorithm>

#include "tests/drawings.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

bool is_drawn(const QIcon& drawn) {
  const QPixmap pixmap = drawn.pixmap(16, 16);
  QImage blank(pixmap.size(), QImage::Format_ARGB32_Premultiplied);
  blank.fill(Qt::transparent);
  return pixmap.toImage().convertToFormat(blank.format()) != blank;
}

class TopologyTreeTest : public testing::Test {
 protected:
  TopologyTreeTest() {
    experiment::Experiment experiment;
    experiment.topology.hosts.push_back(tests::drawn_host("a host with a rather long name", 2));
    experiment.topology.hosts.push_back(tests::drawn_host("other", 1, 2));
    experiment.topology.links.push_back({"a host with a rather long name", "other"});
    document_.reset(experiment);
    tree_.show();
  }
  ~TopologyTreeTest() override { Theme::instance().apply(Theme::Kind::light); }

  void show(int width, double scale) {
    Theme::instance().apply(Theme::Kind::light, scale);
    tree_.resize(width, 400);
    EXPECT_TRUE(QTest::qWaitFor([&] {
      return tree_.header()->length() == tree_.viewport()->width();
    })) << width;
  }
  int width_of(int column) const { return tree_.header()->sectionSize(column); }
  int needed(int column) const {
    return static_cast<const QAbstractItemView&>(tree_).sizeHintForColumn(column);
  }
  QModelIndexList cells() const {
    QModelIndexList all;
    for (QModelIndex row = tree_.model()->index(0, 0); row.isValid(); row = tree_.indexBelow(row))
      for (int column = 0; column < TopologyItems::column_count; ++column)
        all << row.siblingAtColumn(column);
    return all;
  }

  Document document_;
  Selection selection_;
  TopologyTree tree_{document_, selection_};
};

TEST_F(TopologyTreeTest, columns_fit_the_width) {
  for (const double scale : {1.0, 2.0})
    for (const int width : {150, 208, 300, 480}) {
      show(width * static_cast<int>(scale), scale);
      EXPECT_TRUE(QTest::qWaitFor([&] { return tree_.horizontalScrollBar()->maximum() == 0; }))
          << width;
      EXPECT_GE(
          width_of(TopologyItems::name_column),
          std::min(needed(TopologyItems::name_column), width_of(TopologyItems::details_column)))
          << width;
      EXPECT_GT(width_of(TopologyItems::details_column), 0) << width;
    }
}

TEST_F(TopologyTreeTest, shows_full_texts_if_the_width_suffices) {
  show(1400, 1);
  for (int column = 0; column < TopologyItems::column_count; ++column)
    EXPECT_GE(width_of(column), needed(column)) << column;
  document_.edit("longer", [](experiment::Experiment& e) {
    e.topology.hosts[1].name = QString("long").repeated(15).toStdString();
  });
  EXPECT_TRUE(QTest::qWaitFor(
      [&] { return width_of(TopologyItems::name_column) >= needed(TopologyItems::name_column); }));
}

TEST_F(TopologyTreeTest, kind_of_an_item_is_an_icon_and_an_accessible_text) {
  for (const QModelIndex& cell : cells()) {
    const QString kind = cell.data(TopologyItems::kind_role).toString();
    EXPECT_TRUE(is_drawn(icon(kind))) << kind.toStdString();
    EXPECT_TRUE(cell.data(Qt::AccessibleTextRole).toString().contains(kind)) << kind.toStdString();
    EXPECT_TRUE(cell.data(Qt::ToolTipRole).toString().contains(kind)) << kind.toStdString();
    if (cell.column() != TopologyItems::name_column) continue;
    QStyleOptionViewItem option;
    option.decorationSize = {500, 16};  // wider than any name
    EXPECT_GE(tree_.itemDelegate()->sizeHint(option, cell).width(), 500) << kind.toStdString();
  }
}

TEST_F(TopologyTreeTest, details_have_two_fifths_of_the_width_beside_long_names) {
  for (const int width : {208, 300}) {
    show(width, 1);
    const int details = width_of(TopologyItems::details_column);
    const int name = width_of(TopologyItems::name_column), whole = name + details;
    EXPECT_GE(details, std::min(needed(TopologyItems::details_column), 2 * whole / 5)) << width;
    EXPECT_GE(name, std::min(needed(TopologyItems::name_column), 3 * whole / 5)) << width;
  }
}

TEST_F(TopologyTreeTest, tooltip_of_a_cell_contains_its_full_row) {
  EXPECT_EQ(cells().size(), 6 * TopologyItems::column_count) << "two hosts, three devices, a link";
  for (const QModelIndex& cell : cells()) {
    const QString tip = cell.data(Qt::ToolTipRole).toString();
    for (int column = 0; column < TopologyItems::column_count; ++column)
      EXPECT_TRUE(tip.contains(cell.siblingAtColumn(column).data().toString()))
          << tip.toStdString();
  }
}

}  // namespace
}  // namespace trainyard::ui
