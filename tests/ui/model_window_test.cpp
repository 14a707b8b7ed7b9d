// SPDX-License-Identifier: GPL-3.0-or-later
// The model panel in the window: drags from its graph to the drawing.
#include <QDockWidget>
#include <QDropEvent>
#include <QMimeData>
#include <QTest>

#include "tests/ui/answered_window.h"
#include "ui/model/document/layer_mime.h"

namespace trainyard::ui::test {
namespace {

class ModelWindow : public AnsweredWindow {
 protected:
  ModelPanel& panel() { return window_->panels().model; }
  void look(const char* name) {
    ASSERT_TRUE(window_->open(example(name)));
    window_->workspace().raise("model");
    ASSERT_TRUE(QTest::qWaitFor([&] { return panel().picture().count() > 0; }));
  }
  QPoint pixel(const std::string& device) {
    TopologyView& canvas = window_->center().canvas();
    return canvas.mapFromScene(canvas.topology_scene().layout().rect_of(device).center());
  }
  template <class Event>
  bool send(const QMimeData& data, QPoint at) {
    Event event(at, Qt::MoveAction, &data, Qt::LeftButton, {});
    QApplication::sendEvent(window_->center().canvas().viewport(), &event);
    return event.isAccepted();
  }
};

TEST_F(ModelWindow, layer_can_be_dragged_to_a_device_of_the_drawing) {
  look("three_devices_unbalanced_resnet_digits.json");
  const experiment::Experiment before = window_->document().experiment();
  const int last = panel().picture().count() - 2;
  const QString place = panel().picture().node(last).place;
  ASSERT_EQ(panel().picture().column_of(last).rank, 2);
  const auto data = to_mime(QStringList{place});
  ASSERT_TRUE(send<QDragEnterEvent>(*data, pixel("cpu0")));
  ASSERT_TRUE(send<QDragMoveEvent>(*data, pixel("cpu0")));
  ASSERT_TRUE(send<QDropEvent>(*data, pixel("cpu0")));
  EXPECT_EQ(panel().picture().column_of(last).rank, 0);
  EXPECT_EQ(window_->document().undo_stack().undoText(), "Move layer " + place + " to cpu0");
  window_->document().undo_stack().undo();
  EXPECT_EQ(window_->document().experiment(), before);
  EXPECT_TRUE(QTest::qWaitFor([&] { return panel().picture().column_of(last).rank == 2; }));
}

TEST_F(ModelWindow, selection_is_marked_on_the_drawing_while_visible) {
  look("four_devices_pipeline_gpt_grammar.json");
  const auto drawn = [&] {
    QCoreApplication::processEvents();
    return window_->center().canvas().grab().toImage();
  };
  ASSERT_TRUE(QTest::qWaitFor([&] {
    return !window_->center().canvas().topology_scene().logical().arrows().empty();
  })) << "its tiles name their layers";
  const QImage plain = drawn();
  panel().view().select({0}, 0);
  EXPECT_NE(drawn(), plain);
  window_->workspace().raise("charts");
  EXPECT_TRUE(QTest::qWaitFor([&] { return drawn() == plain; }));
}

TEST_F(ModelWindow, has_a_shortcut) {
  window_->center().show_welcome(false);
  window_->workspace().dock("model").hide();
  window_->activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(window_.get()));
  QTest::keyClick(window_.get(), Qt::Key_5, Qt::AltModifier | Qt::ShiftModifier);
  EXPECT_FALSE(window_->workspace().dock("model").isHidden());
}

}  // namespace
}  // namespace trainyard::ui::test
