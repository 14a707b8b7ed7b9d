// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/ui/real_window.h"

#include <QApplication>
#include <QComboBox>
#include <QDrag>
#include <QDropEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMimeData>
#include <QMouseEvent>
#include <QTest>
#include <QToolBar>
#include <QToolButton>

#include "backends/zmq/control.h"
#include "ui/inspector/field_editor.h"

namespace trainyard::ui::test {

RealWindow::RealWindow() {
  for (const char* place : {"XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"})
    qputenv(place, directory_.path().toUtf8());
  window_ = make_window();
}

RealWindow::~RealWindow() {
  if (!window_ || !window_->runs().live()) return;
  for (ui::Run* run : window_->runs().live_runs()) run->stop();
  wait([&] { return !window_->runs().live(); });
}

Services RealWindow::services() const {
  return {zmq::connect, TRAINYARD_BIN_DIR "/trainyard-cli", directory_.filePath("trainyard/runs"),
          TRAINYARD_SOURCE_DIR "/resources/experiments"};
}

ui::Setup RealWindow::setup() {
  ui::Setup setup;
  setup.services = services();
  setup.settings_file = directory_.filePath("settings.ini");
  setup.recovery = directory_.filePath("recovery");
  setup.questions = Questions{[](const QString&) { return SaveAnswer::discard; },
                              [this](const QString&) { return ++asked_, closing_; },
                              [this] { return file_; },
                              [this](const QString&) { return file_; },
                              [](const QString& start) { return start; },
                              [this](const QString&, const QString& text, const QString&) {
                                return question_ = text, ++confirmed_, confirm_;
                              }};
  return setup;
}

std::unique_ptr<MainWindow> RealWindow::make_window() {
  auto window = std::make_unique<MainWindow>(setup());
  window->resize(1600, 1000);
  window->show();
  window->activateWindow();
  EXPECT_TRUE(QTest::qWaitForWindowActive(window.get())) << "shortcuts need an active window";
  return window;
}

bool RealWindow::wait(const std::function<bool()>& condition) {
  return QTest::qWaitFor(condition, kPatience);
}

void RealWindow::press(QAction& action) {
  QToolButton* button = nullptr;
  for (const QToolBar* bar : window_->findChildren<QToolBar*>())
    if (QWidget* found = bar->widgetForAction(&action)) button = qobject_cast<QToolButton*>(found);
  ASSERT_TRUE(button && button->isVisible() && button->isEnabled()) << action.text().toStdString();
  QTest::mouseClick(button, Qt::LeftButton);
}

void RealWindow::press(const char* text) {
  for (const QToolBar* bar : window_->findChildren<QToolBar*>())
    for (QAction* action : bar->actions())
      if (action->text().remove('&').startsWith(text)) return press(*action);
  FAIL() << "no button " << text;
}

QPoint RealWindow::pixel(const std::string& name, QPointF off) {
  const QRectF rect = canvas().topology_scene().layout().rect_of(name);
  EXPECT_FALSE(rect.isNull()) << name << " is not drawn";
  return canvas().mapFromScene(off.isNull() ? rect.center() : rect.topLeft() + off);
}

void RealWindow::key(int key, Qt::KeyboardModifiers modifiers) {
  canvas().setFocus();
  QTest::keyClick(&canvas(), static_cast<Qt::Key>(key), modifiers);
}

// Drags with the mouse from the row of the palette. Without a display Qt has no drags, so the drag
// data of the row are dropped on the canvas directly.
void RealWindow::drag_part(PaletteKind kind, QPoint at) {
  auto* palette = window_->findChild<QListWidget*>("palette");
  ASSERT_TRUE(palette);
  const QPoint from = palette->visualItemRect(palette->item(static_cast<int>(kind))).center(),
               away(2 * QApplication::startDragDistance(), 0);
  QTest::mousePress(palette->viewport(), Qt::LeftButton, {}, from);
  for (const QPoint& place : {from + away / 2, from + away}) {
    QMouseEvent move(QEvent::MouseMove, place, palette->viewport()->mapToGlobal(place),
                     Qt::NoButton, Qt::LeftButton, {});
    QApplication::sendEvent(palette->viewport(), &move);
  }
  const auto* drag_object = palette->findChild<QDrag*>();
  ASSERT_TRUE(drag_object) << "the row has no drag data";
  QTest::mouseRelease(palette->viewport(), Qt::LeftButton, {}, from + away);
  QWidget* port = canvas().viewport();
  QDragEnterEvent enter(at, drag_object->supportedActions(), drag_object->mimeData(),
                        Qt::LeftButton, {});
  QApplication::sendEvent(port, &enter);
  ASSERT_TRUE(enter.isAccepted());
  QDragMoveEvent move(at, drag_object->supportedActions(), drag_object->mimeData(), Qt::LeftButton,
                      {});
  QApplication::sendEvent(port, &move);
  QDropEvent drop(at, drag_object->supportedActions(), drag_object->mimeData(), Qt::LeftButton, {});
  QApplication::sendEvent(port, &drop);
  delete drag_object;
}

void RealWindow::drag(QPoint from, QPoint to) {
  QWidget* port = canvas().viewport();
  QTest::mousePress(port, Qt::LeftButton, {}, from);
  for (int step = 1; step <= 10; ++step) {
    const QPoint at = from + (to - from) * step / 10;
    QMouseEvent move(QEvent::MouseMove, at, port->mapToGlobal(at), Qt::LeftButton, Qt::LeftButton,
                     {});
    QApplication::sendEvent(port, &move);
  }
  QTest::mouseRelease(port, Qt::LeftButton, {}, to);
}

void RealWindow::rename(const std::string& name, const QString& to) {
  QTest::mouseClick(canvas().viewport(), Qt::LeftButton, {}, pixel(name, {6, 6}));
  key(Qt::Key_F2);
  auto* editor = canvas().findChild<QLineEdit*>("name_editor");
  ASSERT_TRUE(editor);
  QTest::keyClicks(editor, to);
  QTest::keyClick(editor, Qt::Key_Return);
  ASSERT_TRUE(wait([&] { return !canvas().findChild<QLineEdit*>("name_editor"); }));
}

void RealWindow::choose(const QString& section, const QString& field, const QString& choice) {
  auto* box = qobject_cast<QComboBox*>(
      window_->panels().inspector.form(section).editor(field)->focusProxy());
  ASSERT_TRUE(box && box->isVisible()) << field.toStdString();
  box->setFocus();
  QTest::keyClicks(box, choice);
  ASSERT_EQ(box->currentText(), choice);
}

void RealWindow::type(const QString& section, const QString& field, const QString& text) {
  QWidget* editor = window_->panels().inspector.form(section).editor(field)->focusProxy();
  ASSERT_TRUE(editor->isVisible()) << field.toStdString();
  editor->setFocus();
  QTest::keyClick(editor, Qt::Key_A, Qt::ControlModifier);
  QTest::keyClicks(editor, text);
  QTest::keyClick(editor, Qt::Key_Return);
}

const PlotSeries* RealWindow::series(ChartKind kind, const QString& id) {
  return window_->panels().charts.plot(kind).model().find("1/" + id);
}

std::size_t RealWindow::points(ChartKind kind, const QString& id) {
  const PlotSeries* found = series(kind, id);
  return found ? found->points.size() : 0;
}

std::optional<session::RunState> RealWindow::state() {
  const ui::Run* run = window_->runs().current();
  return run && run->status() ? std::optional(run->status()->state) : std::nullopt;
}

std::int64_t RealWindow::step() { return window_->runs().current()->status()->step; }

}  // namespace trainyard::ui::test
