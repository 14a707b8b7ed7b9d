// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QDropEvent>
#include <QElapsedTimer>
#include <QMimeData>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include "tests/ui/modelview/model_samples.h"
#include "ui/model/document/layer_mime.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using experiment::StrategyKind;
using test::by_hand;
using test::gpt;
using test::three_layers;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A visible view of two blocks of a transformer on three devices.
class ModelViewTest : public testing::Test {
 protected:
  ModelViewTest() {
    view_.resize(1400, 420);
    view_.set_picture(model_picture(gpt(3, 2, false), ""));
    view_.show();
    view_.setFocus();
  }
  ~ModelViewTest() override { Theme::instance().apply(Theme::Kind::light); }

  QPoint middle(int node) const { return view_.rect_of(node).center(); }
  void click(QPoint at, Qt::KeyboardModifiers modifiers = {}) {
    QTest::mouseClick(view_.viewport(), Qt::LeftButton, modifiers, at);
  }
  void key(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(&view_, key, modifiers);
  }
  QImage seen() { return view_.viewport()->grab().toImage(); }
  template <class Event>
  bool send(QPoint at, const QMimeData& data) {
    Event event(at, Qt::MoveAction, &data, Qt::LeftButton, {});
    QApplication::sendEvent(view_.viewport(), &event);
    return event.isAccepted();
  }
  QStringList names(const Nodes& nodes) const { return places_of(view_.picture(), nodes); }
  int last() const { return view_.picture().count() - 1; }

  ModelView view_;
};

TEST_F(ModelViewTest, selects_one_several_and_ranges_by_mouse) {
  click(middle(1));
  EXPECT_THAT(view_.selected(), ElementsAre(1));
  click(middle(3), Qt::ControlModifier);
  EXPECT_THAT(view_.selected(), ElementsAre(1, 3));
  click(middle(3), Qt::ControlModifier);
  EXPECT_THAT(view_.selected(), ElementsAre(1));
  click(middle(1));
  click(middle(4), Qt::ShiftModifier);
  EXPECT_THAT(view_.selected(), ElementsAre(1, 2, 3, 4));
  click(middle(2));
  EXPECT_THAT(view_.selected(), ElementsAre(2)) << "a click without a drag selects one layer";
  click({view_.rect_of(2).right() + 3, middle(2).y()});
  EXPECT_THAT(view_.selected(), IsEmpty()) << "next to the layer";
}

TEST_F(ModelViewTest, selects_a_block_by_its_name) {
  click({10, middle(3).y()});
  const ModelGroup& block = view_.picture().groups[0];
  EXPECT_EQ(*view_.selected().begin(), block.first);
  EXPECT_EQ(static_cast<int>(view_.selected().size()), block.last - block.first + 1);
}

TEST_F(ModelViewTest, moves_selects_and_scrolls_by_keys) {
  key(Qt::Key_Down);
  EXPECT_THAT(view_.selected(), ElementsAre(0));
  key(Qt::Key_Down);
  key(Qt::Key_Down, Qt::ShiftModifier);
  key(Qt::Key_Down, Qt::ShiftModifier);
  EXPECT_THAT(view_.selected(), ElementsAre(1, 2, 3));
  key(Qt::Key_Up, Qt::ShiftModifier);
  EXPECT_THAT(view_.selected(), ElementsAre(1, 2));
  key(Qt::Key_End);
  EXPECT_THAT(view_.selected(), ElementsAre(last()));
  EXPECT_TRUE(view_.viewport()->rect().contains(view_.rect_of(last())))
      << "the selection is visible";
  key(Qt::Key_Down);
  EXPECT_EQ(view_.current(), last());
  key(Qt::Key_Home);
  EXPECT_THAT(view_.selected(), ElementsAre(0));
  EXPECT_TRUE(view_.viewport()->rect().contains(view_.rect_of(0)));
  key(Qt::Key_PageDown);
  EXPECT_GT(view_.current(), 3);
  key(Qt::Key_A, Qt::ControlModifier);
  EXPECT_EQ(static_cast<int>(view_.selected().size()), last() + 1);
  key(Qt::Key_Escape);
  EXPECT_THAT(view_.selected(), IsEmpty());
}

TEST_F(ModelViewTest, has_the_selection_in_its_accessible_description) {
  EXPECT_TRUE(view_.accessibleDescription().contains("segments, "))
      << "the totals without a selection";
  key(Qt::Key_Down);
  EXPECT_EQ(view_.accessibleDescription(), sentence(view_.picture(), 0));
  key(Qt::Key_Down, Qt::ShiftModifier);
  EXPECT_TRUE(view_.accessibleDescription().startsWith("layers 0 and 1.0 "))
      << view_.accessibleDescription().toStdString();
}

TEST_F(ModelViewTest, shows_a_tooltip_of_the_item_under_the_pointer) {
  EXPECT_EQ(view_.tool_tip_at(middle(2)), sentence(view_.picture(), 2));
  const QString head = view_.tool_tip_at({view_.rect_of_column(1).center().x(), 5});
  EXPECT_TRUE(head.startsWith("cpu1, rank 1: ")) << head.toStdString();
  EXPECT_EQ(view_.tool_tip_at({3, 5}), "");
}

TEST_F(ModelViewTest, requests_moves_to_the_next_device_by_keys) {
  const QSignalSpy wanted(&view_, &ModelView::move_requested), refused(&view_, &ModelView::refused);
  key(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(refused.count(), 1) << "nothing is selected";
  view_.select({0, 1}, 0);
  key(Qt::Key_Left, Qt::AltModifier);
  ASSERT_EQ(refused.count(), 2);
  EXPECT_TRUE(refused.last().first().toString().contains("first device"));
  key(Qt::Key_Right, Qt::AltModifier);
  ASSERT_EQ(wanted.count(), 1);
  EXPECT_THAT(wanted.last().at(0).value<Nodes>(), ElementsAre(0, 1));
  EXPECT_EQ(wanted.last().at(1).toInt(), 1);
}

TEST_F(ModelViewTest, requests_a_move_for_layers_dropped_in_a_column) {
  const QSignalSpy wanted(&view_, &ModelView::move_requested);
  const auto data = to_mime(QStringList{"0", "1.0"});
  const QPoint there = view_.rect_of_column(2).center();
  ASSERT_TRUE(send<QDragEnterEvent>(there, *data));
  const QImage before = seen();
  EXPECT_TRUE(send<QDragMoveEvent>(there, *data));
  EXPECT_NE(seen(), before) << "the column is marked";
  EXPECT_FALSE(send<QDragMoveEvent>({view_.viewport()->width() - 40, 200}, *data))
      << "the figures are not a device";
  EXPECT_TRUE(send<QDropEvent>(there, *data));
  ASSERT_EQ(wanted.count(), 1);
  EXPECT_EQ(names(wanted.last().at(0).value<Nodes>()), (QStringList{"0", "1.0"}));
  EXPECT_EQ(wanted.last().at(1).toInt(), 2);
  const QMimeData other;
  EXPECT_FALSE(send<QDragEnterEvent>(there, other));
}

TEST_F(ModelViewTest, reports_the_reason_of_a_refused_drag_immediately) {
  view_.set_picture(model_picture(test::gpt_in_shards(), ""));
  const QSignalSpy refused(&view_, &ModelView::refused);
  const auto data = to_mime(QStringList{"0"});
  ASSERT_TRUE(send<QDragEnterEvent>(view_.rect_of_column(0).center(), *data));
  EXPECT_FALSE(send<QDragMoveEvent>(view_.rect_of_column(1).center(), *data));
  ASSERT_EQ(refused.count(), 1);
  EXPECT_THAT(refused.last().first().toString().toStdString(),
              AllOf(HasSubstr("Layer 2"), HasSubstr("layer 0")));
}

TEST_F(ModelViewTest, does_not_drag_if_every_device_has_all_layers) {
  view_.set_picture(model_picture(three_layers(StrategyKind::mirrored, 2), ""));
  const QSignalSpy refused(&view_, &ModelView::refused), wanted(&view_, &ModelView::move_requested);
  QTest::mousePress(view_.viewport(), Qt::LeftButton, {}, middle(1));
  QTest::mouseMove(view_.viewport(), middle(1) + QPoint(60, 20));
  QMouseEvent move(QEvent::MouseMove, middle(1) + QPoint(60, 20),
                   view_.viewport()->mapToGlobal(middle(1)), Qt::LeftButton, Qt::LeftButton, {});
  QApplication::sendEvent(view_.viewport(), &move);
  QTest::mouseRelease(view_.viewport(), Qt::LeftButton, {}, middle(1) + QPoint(60, 20));
  ASSERT_GE(refused.count(), 1);
  EXPECT_THAT(refused.last().first().toString().toStdString(),
              AllOf(HasSubstr("strategy mirrored"), HasSubstr("model_parallel, pipeline")));
  key(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(wanted.count(), 0);
}

TEST_F(ModelViewTest, keeps_the_selection_when_the_picture_changes) {
  view_.select({1, 2}, 2);
  view_.set_picture(
      with_owners(view_.picture(), std::vector<int>(static_cast<std::size_t>(last() + 1), 1)));
  EXPECT_THAT(view_.selected(), ElementsAre(1, 2));
  EXPECT_EQ(view_.current(), 2);
  const QSignalSpy changed(&view_, &ModelView::selection_changed);
  view_.set_picture(model_picture(three_layers(StrategyKind::mirrored, 2), ""));
  EXPECT_THAT(view_.selected(), IsEmpty()) << "the new picture has no layer 1.0";
  EXPECT_EQ(changed.count(), 1);
}

TEST_F(ModelViewTest, shows_all_layers) {
  EXPECT_GT(view_.verticalScrollBar()->maximum(), 0);
  const QSignalSpy changed(&view_, &ModelView::overview_changed);
  key(Qt::Key_Minus);
  EXPECT_TRUE(view_.overview());
  EXPECT_EQ(changed.count(), 1);
  EXPECT_EQ(view_.verticalScrollBar()->maximum(), 0);
  EXPECT_TRUE(view_.viewport()->rect().contains(view_.rect_of(last())));
  click(middle(5));
  EXPECT_THAT(view_.selected(), ElementsAre(5));
  QWheelEvent turn(middle(5), view_.viewport()->mapToGlobal(middle(5)), {}, {0, 120}, Qt::NoButton,
                   Qt::ControlModifier, Qt::NoScrollPhase, false);
  QApplication::sendEvent(view_.viewport(), &turn);
  EXPECT_FALSE(view_.overview());
  EXPECT_TRUE(view_.viewport()->rect().contains(view_.rect_of(5))) << "the selection is visible";
}

TEST_F(ModelViewTest, paints_only_visible_layers_of_a_thousand) {
  view_.set_picture(model_picture(gpt(4, 100, false), ""));
  ASSERT_GT(view_.picture().count(), 1000);
  for (const bool overview : {false, true}) {
    view_.set_overview(overview);
    seen();
    QElapsedTimer clock;
    clock.start();
    for (int frame = 0; frame < 10; ++frame) {
      view_.verticalScrollBar()->setValue(frame * 500);
      seen();
    }
    EXPECT_LT(clock.elapsed(), 10 * 100) << "ms of ten frames, overview " << overview;
  }
}

TEST_F(ModelViewTest, supports_dark_theme_and_large_text) {
  const QImage light = seen();
  Theme::instance().apply(Theme::Kind::dark);
  EXPECT_NE(seen(), light);
  EXPECT_EQ(seen().pixelColor(3, middle(0).y()), Theme::instance().colors().canvas);
  EXPECT_NE(seen().pixelColor(3, middle(2).y()), Theme::instance().colors().canvas)
      << "the background of the first block";
  const int row = view_.rect_of(0).height();
  Theme::instance().apply(Theme::Kind::dark, 2);
  EXPECT_GT(view_.rect_of(0).height(), row * 3 / 2);
  EXPECT_GT(view_.horizontalScrollBar()->maximum(), 0) << "the view scrolls";
}

TEST_F(ModelViewTest, states_the_reason_if_it_is_empty) {
  view_.set_picture({});
  view_.set_empty_text("No model yet", "Model: Layer 0: it takes a sequence.");
  EXPECT_EQ(view_.accessibleDescription(), "No model yet\nModel: Layer 0: it takes a sequence.");
  const QImage image = seen();
  view_.set_empty_text("", "");
  EXPECT_NE(seen(), image);
  key(Qt::Key_Down);
  key(Qt::Key_Right, Qt::AltModifier);
  click({300, 100});
  EXPECT_THAT(view_.selected(), IsEmpty());
}

// Each rank has half of the box below the name.
TEST_F(ModelViewTest, paints_parts_of_a_layer_in_the_colors_of_their_ranks) {
  view_.set_picture(model_picture(three_layers(StrategyKind::tensor_parallel, 2), ""));
  const QRect box = view_.rect_of(0);
  const QImage picture = seen();
  const auto has = [&](int left, int right, int rank) {
    for (int x = left; x < right; ++x)
      for (int y = box.center().y(); y < box.bottom(); ++y)
        if (picture.pixelColor(x, y) == Theme::instance().series_color(rank)) return true;
    return false;
  };
  const int quarter = box.width() / 4, middle_of_box = box.center().x();
  EXPECT_TRUE(has(box.left(), middle_of_box - quarter, 0));
  EXPECT_FALSE(has(box.left(), middle_of_box - quarter, 1));
  EXPECT_TRUE(has(middle_of_box + quarter, box.right(), 1));
  EXPECT_FALSE(has(middle_of_box + quarter, box.right(), 0));
}

}  // namespace
}  // namespace trainyard::ui
