// SPDX-License-Identifier: GPL-3.0-or-later
// The comparison of algorithms below the fields of the strategy: reading, hovering and selecting.
#include <QCheckBox>
#include <QComboBox>
#include <QHelpEvent>
#include <QLabel>
#include <QSignalSpy>
#include <QToolTip>
#include <algorithm>

#include "core/base/units.h"
#include "core/experiment/buckets.h"
#include "tests/drawings.h"
#include "tests/ui/has_all.h"
#include "tests/ui/inspector/inspector_fixture.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using collective::Algorithm;

class Algorithms : public InspectorTest {
 protected:
  Algorithms() : pictures_(&inspector_, &Inspector::picture_requested) {
    inspector_.resize(360, 1600);
  }

  AlgorithmPicker& picker() { return inspector_.algorithms(); }
  AlgorithmTable& table() { return picker().table(); }
  void draw(const topology::Topology& drawing) {
    document_.edit("draw", [&](experiment::Experiment& e) { e.topology = drawing; });
  }
  // Waits until the rows have a position.
  void wait_for_ranks(int ranks) {
    const auto laid_out = [&] {
      return !table().rows().empty() &&
             table().viewport()->rect().contains(middle(table().rows().back().offer.algorithm));
    };
    ASSERT_TRUE(QTest::qWaitFor([&] {
      return picker().caption().endsWith(QString("over %1 ranks:").arg(ranks)) && laid_out();
    })) << picker().caption().toStdString();
  }
  int row_of(Algorithm algorithm) {
    const auto& rows = table().rows();
    return static_cast<int>(
        std::ranges::find(rows, algorithm,
                          [](const AlgorithmRow& row) { return row.offer.algorithm; }) -
        rows.begin());
  }
  QModelIndex cell(Algorithm algorithm, int column) {
    return table().model()->index(row_of(algorithm), column);
  }
  QString text(Algorithm algorithm, int column) {
    return cell(algorithm, column).data().toString();
  }
  QPoint middle(Algorithm algorithm) {
    return table().visualRect(cell(algorithm, AlgorithmModel::time_column)).center();
  }
  void hover(Algorithm algorithm) {
    QMouseEvent move(QEvent::MouseMove, middle(algorithm),
                     table().viewport()->mapToGlobal(middle(algorithm)), Qt::NoButton, Qt::NoButton,
                     {});
    QApplication::sendEvent(table().viewport(), &move);
  }
  void leave() {
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(table().viewport(), &leave);
  }
  void click(Algorithm algorithm) {
    QTest::mouseClick(table().viewport(), Qt::LeftButton, {}, middle(algorithm));
  }
  std::vector<Algorithm> chosen() {
    std::vector<Algorithm> all;
    for (const AlgorithmRow& row : table().rows())
      if (row.chosen) all.push_back(row.offer.algorithm);
    return all;
  }
  LogicalTopology picture() {
    return pictures_.empty() ? LogicalTopology()
                             : pictures_.last().first().value<LogicalTopology>();
  }
  QString note() {
    for (const QLabel* label : inspector_.form("strategy").findChildren<QLabel*>())
      if (label->text().startsWith("Chosen: ") && label->isVisibleTo(&inspector_))
        return label->text();
    return {};
  }

  QSignalSpy pictures_;
};

TEST_F(Algorithms, every_row_states_its_cost_on_the_drawing) {
  draw(tests::drawn_hosts(2, 2));
  wait_for_ranks(4);
  const auto resolved = experiment::resolve(now(), "").value();
  const collective::Work work = experiment::largest_reduction(resolved);
  const topology::Network network(now().topology);
  ASSERT_EQ(table().rows().size(), std::size(base::Names<Algorithm>::table) - 1)
      << "all except auto";
  for (const AlgorithmRow& row : table().rows()) {
    const Algorithm algorithm = row.offer.algorithm;
    const collective::Cost cost = collective::cost(algorithm, 0, work, network).value();
    EXPECT_EQ(text(algorithm, AlgorithmModel::rounds_column), QString::number(cost.rounds));
    EXPECT_EQ(text(algorithm, AlgorithmModel::busiest_column).toStdString(),
              base::format_bytes(static_cast<double>(cost.busiest_bytes)));
    EXPECT_EQ(text(algorithm, AlgorithmModel::time_column).toStdString(),
              base::format_seconds(cost.seconds));
    EXPECT_EQ(row.best, algorithm == collective::choose(0, work, network)->algorithm);
  }
  EXPECT_TRUE(picker().caption().contains(
      QString::fromStdString(base::format_bytes(static_cast<double>(work.bytes())))))
      << picker().caption().toStdString();
}

TEST_F(Algorithms, click_sets_the_field_and_can_be_undone) {
  wait_for_ranks(2);
  EXPECT_EQ(chosen(), std::vector{Algorithm::ring});
  click(Algorithm::star);
  EXPECT_EQ(now().strategy.algorithm, Algorithm::star);
  EXPECT_EQ(chosen(), std::vector{Algorithm::star}) << "immediately";
  EXPECT_EQ(
      inner<QComboBox>(inspector_.form("strategy").editor("algorithm"))->currentData().toString(),
      "star");
  EXPECT_EQ(document_.undo_stack().count(), 1);
  click(Algorithm::star);
  EXPECT_EQ(document_.undo_stack().count(), 1) << "the row is already selected";
  document_.undo_stack().undo();
  EXPECT_EQ(now().strategy.algorithm, Algorithm::ring);
  EXPECT_EQ(chosen(), std::vector{Algorithm::ring});
}

TEST_F(Algorithms, keys_move_between_rows_and_select) {
  wait_for_ranks(2);
  table().setFocus(Qt::TabFocusReason);
  EXPECT_EQ(table().currentIndex().row(), row_of(Algorithm::ring))
      << "the selection begins at the current algorithm";
  QTest::keyClick(&table(), Qt::Key_Down);
  EXPECT_EQ(now().strategy.algorithm, Algorithm::ring) << "hovering does not select";
  QTest::keyClick(&table(), Qt::Key_Return);
  EXPECT_EQ(now().strategy.algorithm, Algorithm::direct);
  QTest::keyClick(&table(), Qt::Key_Down);
  QTest::keyClick(&table(), Qt::Key_Space);
  EXPECT_EQ(now().strategy.algorithm, Algorithm::halving_doubling);
  QTest::keyClick(&table(), Qt::Key_Tab);
  EXPECT_FALSE(table().hasFocus()) << "Tab leaves it";
}

TEST_F(Algorithms, reason_of_auto_is_below_the_field) {
  wait_for_ranks(2);
  EXPECT_EQ(note(), "");
  document_.set_value("strategy.algorithm", "auto");
  const auto resolved = experiment::resolve(now(), "").value();
  EXPECT_EQ(note().toStdString(), "Chosen: " + resolved.algorithm_reason);
  EXPECT_EQ(chosen(), std::vector{resolved.document.strategy.algorithm});
  document_.undo_stack().undo();
  EXPECT_EQ(note(), "");
}

TEST_F(Algorithms, unsuitable_algorithm_is_disabled_with_a_reason) {
  topology::Topology uneven = tests::drawn_hosts(2, 2);
  uneven.hosts[1].devices.pop_back();
  draw(uneven);
  wait_for_ranks(3);
  const QModelIndex unfit = cell(Algorithm::sharded_hierarchical, AlgorithmModel::name_column);
  EXPECT_EQ(unfit.data(Qt::ForegroundRole).value<QColor>(), Theme::instance().colors().dim);
  EXPECT_THAT(unfit.data(Qt::ToolTipRole).toString(), test::HasAll("every host"));
  EXPECT_TRUE(unfit.data(Qt::AccessibleTextRole).toString().contains("not possible"));
  click(Algorithm::sharded_hierarchical);
  EXPECT_EQ(now().strategy.algorithm, Algorithm::ring);
  EXPECT_THAT(picker().detail(), test::HasAll("every host"));
  EXPECT_TRUE(picture().flows.empty());
}

// After a change of the drawing to uneven hosts, other algorithms can still be chosen.
TEST_F(Algorithms, unsuitable_selection_can_be_replaced) {
  draw(tests::drawn_hosts(2, 2));
  wait_for_ranks(4);
  click(Algorithm::sharded_hierarchical);
  document_.edit("fewer",
                 [](experiment::Experiment& e) { e.topology.hosts[1].devices.pop_back(); });
  wait_for_ranks(3);
  EXPECT_EQ(chosen(), std::vector{Algorithm::sharded_hierarchical});
  wait_for_problems(1);
  click(Algorithm::leader_hierarchical);
  wait_for_problems(0);
}

TEST_F(Algorithms, hovered_or_focused_row_requests_its_flows) {
  draw(tests::drawn_hosts(1, 4));
  wait_for_ranks(4);
  EXPECT_TRUE(picture().flows.empty());
  hover(Algorithm::ring);
  EXPECT_EQ(picture().flows.size(), 4u);
  EXPECT_TRUE(picture().pointed);
  EXPECT_TRUE(picker().detail().contains("4 arrows"))
      << table().hasFocus() << table().currentIndex().row() << " "
      << middle(Algorithm::sharded_hierarchical).y() << " " << table().viewport()->height() << " "
      << (QApplication::focusWidget() ? QApplication::focusWidget()->metaObject()->className()
                                      : "");
  hover(Algorithm::all_to_all);
  EXPECT_EQ(picture().flows.size(), 12u);
  leave();
  EXPECT_TRUE(picture().flows.empty());
  table().setFocus(Qt::TabFocusReason);
  EXPECT_EQ(picture().flows.size(), 4u);
  QTest::keyClick(&table(), Qt::Key_Down);
  EXPECT_EQ(picture().flows.size(), 12u) << "direct: all to all";
  inspector_.form("strategy").focus_field("kind");
  EXPECT_TRUE(picture().flows.empty());
}

TEST_F(Algorithms, tooltip_of_a_row_does_not_cover_rows) {
  draw(tests::drawn_hosts(1, 4));
  wait_for_ranks(4);
  const QPoint at = middle(Algorithm::ring);
  QHelpEvent asks(QEvent::ToolTip, at, table().viewport()->mapToGlobal(at));
  QApplication::sendEvent(table().viewport(), &asks);
  ASSERT_EQ(QToolTip::text(),
            cell(Algorithm::ring, AlgorithmModel::time_column).data(Qt::ToolTipRole).toString());
  const QRect rows(table().mapToGlobal(QPoint()), table().visibleRegion().boundingRect().size());
  for (const QWidget* widget : QApplication::topLevelWidgets()) {
    const bool lies_over = widget->inherits("QTipLabel") && widget->geometry().intersects(rows);
    EXPECT_FALSE(lies_over) << widget->y() << " within " << rows.top() << " to " << rows.bottom();
  }
  QToolTip::hideText();
}

TEST_F(Algorithms, flows_of_the_selection_remain_visible_on_request) {
  draw(tests::drawn_hosts(1, 4));
  wait_for_ranks(4);
  QTest::keyClick(&picker().keep(), Qt::Key_Space);
  EXPECT_EQ(picture().flows.size(), 4u);
  EXPECT_FALSE(picture().pointed);
  document_.set_value("strategy.algorithm", "star");
  EXPECT_EQ(picture().flows.size(), 6u) << "to the center and back";
  hover(Algorithm::direct);
  EXPECT_TRUE(picture().pointed);
  leave();
  EXPECT_EQ(picture().flows.size(), 6u);
  draw(tests::drawn_hosts(1, 5));
  EXPECT_TRUE(QTest::qWaitFor([&] { return picture().flows.size() == 8; }))
      << "it follows the drawing";
  QTest::keyClick(&picker().keep(), Qt::Key_Space);
  EXPECT_TRUE(picture().flows.empty());
}

TEST_F(Algorithms, one_rank_reduces_nothing) {
  QTest::keyClick(&picker().keep(), Qt::Key_Space);
  draw(tests::drawn_hosts(1, 1));
  ASSERT_TRUE(QTest::qWaitFor([&] { return picker().caption().startsWith("A single rank"); }))
      << picker().caption().toStdString();
  EXPECT_FALSE(table().isVisibleTo(&inspector_));
  EXPECT_TRUE(picture().flows.empty());
}

TEST_F(Algorithms, without_devices_or_with_problems_show_a_hint) {
  draw({});
  ASSERT_TRUE(QTest::qWaitFor([&] { return picker().caption().startsWith("Place devices"); }))
      << picker().caption().toStdString();
  EXPECT_FALSE(table().isVisibleTo(&inspector_));
  topology::Topology apart = tests::drawn_hosts(2, 1);
  apart.links.clear();
  draw(apart);
  ASSERT_TRUE(QTest::qWaitFor([&] { return picker().caption().contains("Draw a link"); }))
      << picker().caption().toStdString();
  draw(tests::drawn_hosts(2, 1));
  wait_for_ranks(2);
  type(inspector_.form("training").editor("batch_per_rank"), "0");
  ASSERT_TRUE(QTest::qWaitFor([&] { return picker().caption().startsWith("Fix this problem"); }));
}

TEST_F(Algorithms, do_not_exist_for_a_strategy_without_reduction) {
  wait_for_ranks(2);
  QTest::keyClick(&picker().keep(), Qt::Key_Space);
  ASSERT_FALSE(picture().flows.empty());
  document_.set_value("strategy.kind", "one_device");
  EXPECT_FALSE(picker().isVisibleTo(&inspector_));
  EXPECT_TRUE(picture().flows.empty());
  document_.undo_stack().undo();
  EXPECT_TRUE(picker().isVisibleTo(&inspector_));
  EXPECT_FALSE(picture().flows.empty());
}

TEST_F(Algorithms, fit_a_narrow_inspector_at_every_text_size) {
  for (const double scale : {1.0, 2.0}) {
    Theme::instance().apply(Theme::Kind::dark, scale);
    wait_for_ranks(2);
    inspector_.resize(static_cast<int>(360 * scale), 1600);
    const int last = table().model()->rowCount() - 1;
    const auto in_sight = [&] {
      return table().viewport()->rect().contains(
          table()
              .visualRect(table().model()->index(last, AlgorithmModel::time_column))
              .adjusted(0, 0, -1, -1));
    };
    EXPECT_TRUE(QTest::qWaitFor(in_sight)) << scale;
  }
  Theme::instance().apply(Theme::Kind::light);
}

}  // namespace
}  // namespace trainyard::ui
