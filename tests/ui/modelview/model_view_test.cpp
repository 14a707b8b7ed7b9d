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
using testing::ElementsAre;
using testing::IsEmpty;

// Two blocks of a transformer on three devices, shown.
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
  bool tell(QPoint at, const QMimeData& data) {
    Event event(at, Qt::MoveAction, &data, Qt::LeftButton, {});
    QApplication::sendEvent(view_.viewport(), &event);
    return event.isAccepted();
  }
  QStringList names(const Nodes& nodes) const { return places_of(view_.picture(), nodes); }
  int last() const { return view_.picture().count() - 1; }

  ModelView view_;
};

TEST_F(ModelViewTest, selects_by_mouse_one_some_and_all_between) {
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
  EXPECT_THAT(view_.selected(), ElementsAre(2))
      << "of several the one that is clicked and not dragged";
  click({view_.rect_of(2).right() + 3, middle(2).y()});
  EXPECT_THAT(view_.selected(), IsEmpty()) << "beside it";
}

TEST_F(ModelViewTest, selects_a_block_by_its_name) {
  click({10, middle(3).y()});
  const ModelGroup& block = view_.picture().groups[0];
  EXPECT_EQ(*view_.selected().begin(), block.first);
  EXPECT_EQ(static_cast<int>(view_.selected().size()), block.last - block.first + 1);
}

TEST_F(ModelViewTest, walks_and_selects_by_keys_and_scrolls_there) {
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
  EXPECT_TRUE(view_.viewport()->rect().contains(view_.rect_of(last()))) << "it scrolled there";
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

TEST_F(ModelViewTest, says_to_a_screen_reader_what_is_selected) {
  EXPECT_TRUE(view_.accessibleDescription().contains("layers, ")) << "the whole, at first";
  key(Qt::Key_Down);
  EXPECT_EQ(view_.accessibleDescription(), sentence(view_.picture(), 0));
  key(Qt::Key_Down, Qt::ShiftModifier);
  EXPECT_TRUE(view_.accessibleDescription().startsWith("layers 0 and 1.0 selected: "))
      << view_.accessibleDescription().toStdString();
}

TEST_F(ModelViewTest, says_what_is_under_the_pointer) {
  EXPECT_EQ(view_.tool_tip_at(middle(2)), sentence(view_.picture(), 2));
  const QString head = view_.tool_tip_at({view_.rect_of_column(1).center().x(), 5});
  EXPECT_TRUE(head.startsWith("cpu1, rank 1: ")) << head.toStdString();
  EXPECT_EQ(view_.tool_tip_at({3, 5}), "");
}

TEST_F(ModelViewTest, wants_layers_moved_to_the_next_device_by_keys) {
  const QSignalSpy wanted(&view_, &ModelView::move_requested), refused(&view_, &ModelView::refused);
  key(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(refused.count(), 1) << "nothing is selected";
  view_.select({0, 1}, 0);
  key(Qt::Key_Left, Qt::AltModifier);
  ASSERT_EQ(refused.count(), 2);
  EXPECT_EQ(refused.last().first().toString(), "This is already the first device.");
  key(Qt::Key_Right, Qt::AltModifier);
  ASSERT_EQ(wanted.count(), 1);
  EXPECT_THAT(wanted.last().at(0).value<Nodes>(), ElementsAre(0, 1));
  EXPECT_EQ(wanted.last().at(1).toInt(), 1);
}

TEST_F(ModelViewTest, takes_what_is_dropped_in_a_column) {
  const QSignalSpy wanted(&view_, &ModelView::move_requested);
  const auto data = to_mime(QStringList{"0", "1.0"});
  const QPoint there = view_.rect_of_column(2).center();
  ASSERT_TRUE(tell<QDragEnterEvent>(there, *data));
  const QImage before = seen();
  EXPECT_TRUE(tell<QDragMoveEvent>(there, *data));
  EXPECT_NE(seen(), before) << "the column is marked";
  EXPECT_FALSE(tell<QDragMoveEvent>({view_.viewport()->width() - 40, 200}, *data))
      << "figures are no device";
  EXPECT_TRUE(tell<QDropEvent>(there, *data));
  ASSERT_EQ(wanted.count(), 1);
  EXPECT_EQ(names(wanted.last().at(0).value<Nodes>()), (QStringList{"0", "1.0"}));
  EXPECT_EQ(wanted.last().at(1).toInt(), 2);
  const QMimeData other;
  EXPECT_FALSE(tell<QDragEnterEvent>(there, other));
}

TEST_F(ModelViewTest, says_at_once_why_what_is_dragged_cannot_be_there) {
  view_.set_picture(model_picture(test::gpt_in_shards(), ""));
  const QSignalSpy refused(&view_, &ModelView::refused);
  const auto data = to_mime(QStringList{"0"});
  ASSERT_TRUE(tell<QDragEnterEvent>(view_.rect_of_column(0).center(), *data));
  EXPECT_FALSE(tell<QDragMoveEvent>(view_.rect_of_column(1).center(), *data));
  ASSERT_EQ(refused.count(), 1);
  EXPECT_TRUE(
      refused.last().first().toString().startsWith("Layer 2 is tied to the table of layer 0"))
      << refused.last().first().toString().toStdString();
}

TEST_F(ModelViewTest, does_not_drag_where_every_device_has_all) {
  view_.set_picture(model_picture(three_layers(StrategyKind::mirrored, 2), ""));
  const QSignalSpy refused(&view_, &ModelView::refused), wanted(&view_, &ModelView::move_requested);
  QTest::mousePress(view_.viewport(), Qt::LeftButton, {}, middle(1));
  QTest::mouseMove(view_.viewport(), middle(1) + QPoint(60, 20));
  QMouseEvent move(QEvent::MouseMove, middle(1) + QPoint(60, 20),
                   view_.viewport()->mapToGlobal(middle(1)), Qt::LeftButton, Qt::LeftButton, {});
  QApplication::sendEvent(view_.viewport(), &move);
  QTest::mouseRelease(view_.viewport(), Qt::LeftButton, {}, middle(1) + QPoint(60, 20));
  ASSERT_GE(refused.count(), 1);
  EXPECT_EQ(refused.last().first().toString(),
            "The strategy mirrored does not place layers on single devices. Set the strategy "
            "to model_parallel, pipeline, or "
            "hybrid with several stages.");
  key(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(wanted.count(), 0);
}

TEST_F(ModelViewTest, keeps_what_is_selected_when_the_picture_changes) {
  view_.select({1, 2}, 2);
  view_.set_picture(
      with_owners(view_.picture(), std::vector<int>(static_cast<std::size_t>(last() + 1), 1)));
  EXPECT_THAT(view_.selected(), ElementsAre(1, 2));
  EXPECT_EQ(view_.current(), 2);
  const QSignalSpy changed(&view_, &ModelView::selection_changed);
  view_.set_picture(model_picture(three_layers(StrategyKind::mirrored, 2), ""));
  EXPECT_THAT(view_.selected(), IsEmpty()) << "there is no 1.0";
  EXPECT_EQ(changed.count(), 1);
}

TEST_F(ModelViewTest, shows_everything_at_once) {
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
  EXPECT_TRUE(view_.viewport()->rect().contains(view_.rect_of(5)))
      << "what was selected is in sight";
}

TEST_F(ModelViewTest, of_a_thousand_layers_paints_but_what_is_seen) {
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

TEST_F(ModelViewTest, is_drawn_in_the_dark_and_in_large_letters) {
  const QImage light = seen();
  Theme::instance().apply(Theme::Kind::dark);
  EXPECT_NE(seen(), light);
  EXPECT_EQ(seen().pixelColor(3, middle(0).y()), Theme::instance().colors().canvas);
  EXPECT_NE(seen().pixelColor(3, middle(2).y()), Theme::instance().colors().canvas)
      << "the ground of the first block";
  const int row = view_.rect_of(0).height();
  Theme::instance().apply(Theme::Kind::dark, 2);
  EXPECT_GT(view_.rect_of(0).height(), row * 3 / 2);
  EXPECT_GT(view_.horizontalScrollBar()->maximum(), 0) << "it scrolls rather than cuts";
}

TEST_F(ModelViewTest, says_why_there_is_nothing) {
  view_.set_picture({});
  view_.set_empty_text("No model yet", "Model: Layer 0: it takes a sequence.");
  EXPECT_EQ(view_.accessibleDescription(), "No model yet\nModel: Layer 0: it takes a sequence.");
  const QImage said = seen();
  view_.set_empty_text("", "");
  EXPECT_NE(seen(), said);
  key(Qt::Key_Down);
  key(Qt::Key_Right, Qt::AltModifier);
  click({300, 100});
  EXPECT_THAT(view_.selected(), IsEmpty());
}

// A half each, below the name.
TEST_F(ModelViewTest, paints_parts_of_a_layer_in_the_colors_of_who_has_them) {
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
