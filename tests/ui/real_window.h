// SPDX-License-Identifier: GPL-3.0-or-later
// The real window with the real programs of this build behind it, driven as a person does: by mouse
// and keys on its widgets. Nothing sleeps: what takes time is waited for.
#pragma once

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <functional>
#include <memory>

#include "tests/ui/patience.h"
#include "ui/main_window.h"

namespace trainyard::ui::test {

// Directories of its own for runs, sockets, settings and unsaved work.
class RealWindow : public testing::Test {
 protected:
  RealWindow();
  ~RealWindow() override;  // stops what still runs

  Services services() const;
  ui::Setup setup();
  std::unique_ptr<MainWindow> make_window();

  static bool wait(const std::function<bool()>& condition);

  // By mouse on the toolbar's button, which must be there and enabled.
  void press(QAction& action);
  void press(const char* text);  // that the action begins with
  // On the canvas.
  TopologyView& canvas() { return window_->center().canvas(); }
  QPoint pixel(const std::string& name,
               QPointF off = {});  // the middle of a thing, or `off` from its corner
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
  int confirmed_ = 0;  // whether something is meant
  bool confirm_ = true;
  QString meant_;  // in what words that was asked
  QString file_;   // the answer to file dialogs
  std::unique_ptr<MainWindow> window_;
};

}  // namespace trainyard::ui::test
