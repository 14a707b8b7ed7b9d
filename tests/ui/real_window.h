// SPDX-License-Identifier: GPL-3.0-or-later
// The real window with the real programs of this build, operated by mouse and keys. Tests wait for
// conditions instead of sleeping.
#pragma once

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <functional>
#include <memory>

#include "tests/ui/patience.h"
#include "ui/main_window.h"

namespace trainyard::ui::test {

// Separate directories for runs, sockets, settings and unsaved changes.
class RealWindow : public testing::Test {
 protected:
  RealWindow();
  ~RealWindow() override;  // stops live runs

  Services services() const;
  ui::Setup setup();
  std::unique_ptr<MainWindow> make_window();

  static bool wait(const std::function<bool()>& condition);

  // Clicks the button of the toolbar, which must exist and be enabled.
  void press(QAction& action);
  void press(const char* text);  // beginning of the text of the action
  // On the canvas.
  TopologyView& canvas() { return window_->center().canvas(); }
  QPoint pixel(const std::string& name,
               QPointF off = {});  // center of an item, or `off` from its corner
  void key(int key, Qt::KeyboardModifiers modifiers = {});
  void drag_part(PaletteKind kind, QPoint at);  // from the palette
  void drag(QPoint from, QPoint to);
  void rename(const std::string& name, const QString& to);  // by F2
  // In the inspector, by keys.
  void choose(const QString& section, const QString& field, const QString& choice);
  void type(const QString& section, const QString& field, const QString& text);

  // Charts of the current run.
  const PlotSeries* series(ChartKind kind, const QString& id);
  std::size_t points(ChartKind kind, const QString& id);
  std::optional<session::RunState> state();
  std::int64_t step();

  QTemporaryDir directory_;
  LiveRunAnswer closing_ = LiveRunAnswer::cancel;
  int asked_ = 0;      // what becomes of a live run
  int confirmed_ = 0;  // number of confirmation questions
  bool confirm_ = true;
  QString question_;  // text of the last confirmation question
  QString file_;      // the answer to file dialogs
  std::unique_ptr<MainWindow> window_;
};

}  // namespace trainyard::ui::test
