// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/help.h"

#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QScreen>
#include <QTextBrowser>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <initializer_list>
#include <utility>

#include "core/base/json.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

QString help_text(const char* text) { return QCoreApplication::translate("help", text); }

void add_actions(QTreeWidgetItem& parent, const QMenu& menu) {
  for (const QAction* action : menu.actions()) {
    if (action->menu()) add_actions(parent, *action->menu());
    else if (!action->shortcut().isEmpty())
      new QTreeWidgetItem(&parent, {QString(action->text()).remove('&'),
                                    action->shortcut().toString(QKeySequence::NativeText)});
  }
}

using GestureKeys = std::pair<const char*, const char*>;  // description, gesture
void add_gestures(QTreeWidget& list, const QString& where,
                  std::initializer_list<GestureKeys> gestures) {
  auto* group = new QTreeWidgetItem(&list, {where});
  for (const auto& [what, keys] : gestures)
    new QTreeWidgetItem(group, {help_text(what), help_text(keys)});
}

void show(QDialog& dialog, QWidget* content, const QSize& size) {
  auto* column = new QVBoxLayout(&dialog);
  column->addWidget(content);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, &dialog);
  QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
  column->addWidget(buttons);
  dialog.resize(
      (size * Theme::instance().scale()).boundedTo(dialog.screen()->availableSize() * 0.95));
  dialog.exec();
}

QString about_text() {
  return help_text(
             "<h2>Trainyard %1</h2>"
             "<p>A workbench for distributed training: draw machines, pick a model and a strategy, "
             "press Run, and watch every gradient and byte.</p>"
             "<p>Free software under the GNU General Public License, version 3 or later, with the "
             "additional permission (section 7) to link CUDA, cuDNN and "
             "NCCL. "
             "It comes without any warranty.</p>"
             "<h3>Libraries</h3>"
             "<ul><li>Qt 6 (LGPL 3), Qt Charts (GPL 3)</li><li>oneDNN (Apache 2.0), OpenBLAS and "
             "Gloo (BSD 3-clause)</li><li>ZeroMQ (MPL 2.0), cereal (BSD "
             "3-clause)</li>"
             "<li>nlohmann/json, spdlog, fmt, CLI11, UTF8-CPP and tl-expected (MIT, BSD 3-clause, "
             "BSL 1.0, CC0)</li><li>xxHash (BSD 2-clause), zlib (zlib "
             "license)</li></ul>"
             "<p>Icons are Trainyard's own. Line colors after M. Okabe and K. Ito, \"Color "
             "Universal Design\" (2008).</p>")
      .arg(TRAINYARD_VERSION);
}

}  // namespace

void show_shortcuts(QMainWindow& window) {
  QDialog dialog(&window);
  dialog.setWindowTitle(help_text("Keyboard shortcuts"));
  auto* list = new QTreeWidget(&dialog);
  list->setHeaderLabels({help_text("Action"), help_text("Keys")});
  for (const QAction* action : window.menuBar()->actions()) {
    if (!action->menu()) continue;
    auto* group = new QTreeWidgetItem(list, {QString(action->text()).remove('&')});
    add_actions(*group, *action->menu());
  }
  add_gestures(*list, help_text("On the canvas"),
               {{"Go to the next object", "Tab, arrows"},
                {"Go to the first or the last object", "Home, End"},
                {"Move the selection", "Ctrl+arrows"},
                {"Select several objects", "Shift+arrows, Ctrl+Space, Ctrl+click"},
                {"Rename", "Enter"},
                {"Clear the selection", "Esc"},
                {"Pan", "Space and drag"}});
  add_gestures(*list, help_text("On a chart"),
               {{"Read the next point", "Arrows"},
                {"Zoom", "Drag, Ctrl+wheel, +, -"},
                {"Zoom the values", "Ctrl+Shift+wheel"},
                {"Pan", "Shift and drag, Shift+arrows"},
                {"Show all", "Home, double click"},
                {"Show the point under the crosshair on the timeline", "Enter"}});
  add_gestures(*list, help_text("In the stepper"),
               {{"Go to the previous or next step", "Left, Right"},
                {"Go to the previous or next round", "Page Up, Page Down"},
                {"Go to the first or last step", "Home, End"},
                {"Play, stop", "Space, Esc"},
                {"Select a rank, a chunk", "Up, Down, Ctrl+Left, Ctrl+Right"},
                {"Edit a value (before the first step)", "F2, double click"}});
  add_gestures(
      *list, help_text("In the model"),
      {{"Go to the next layer", "Up, Down"},
       {"Select several layers", "Shift+Up, Shift+Down, Ctrl+click, Shift+click"},
       {"Select a block", "Click beside it"},
       {"Move layers to another device", "Drag, Alt+Left, Alt+Right"},
       {"Zoom out until all layers fit, or in until their text is readable", "0, Ctrl+wheel, +, -"},
       {"Clear the selection", "Esc"}});
  add_gestures(*list, help_text("On the timeline"),
               {{"Go to the next op, or to another lane", "Arrows"},
                {"Go to the first or the last op of a lane", "Home, End"},
                {"Show the selected op in the plan", "Enter"},
                {"Clear the selection", "Esc"},
                {"Zoom", "Drag, Ctrl+wheel, +, -"},
                {"Pan", "Shift and drag, Shift+wheel, Shift+arrows"},
                {"Choose a step", "Click on its number"},
                {"Show all", "0, Ctrl+Home, double click"},
                {"Follow the run, or stop following", "F"}});
  add_gestures(*list, help_text("On a pipeline's cells"),
               {{"Go to the next cell, or to another rank", "Arrows"},
                {"Go to the first or the last cell of a rank", "Home, End"},
                {"Show the previous or next step", "Page Up, Page Down"},
                {"Show the cell's first op in the plan", "Enter"},
                {"Clear the selection", "Esc"},
                {"Follow the run, or stop following", "F"}});
  add_gestures(
      *list, help_text("In the list of layers"),
      {{"Move the layer up, down", "Alt+Up, Alt+Down"}, {"Remove the layer", "Alt+Delete"}});
  add_gestures(*list, help_text("In the manual"),
               {{"Go back, forward", "Alt+Left, Alt+Right"},
                {"Search", "Ctrl+F"},
                {"Show the contents", "F1"},
                {"Close", "Esc"}});
  list->expandAll();
  list->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  show(dialog, list, {620, 560});
}

void show_about(QMainWindow& window) {
  QDialog dialog(&window);
  dialog.setWindowTitle(help_text("About Trainyard"));
  auto* text = new QTextBrowser(&dialog);
  text->setHtml(about_text());
  show(dialog, text, {520, 480});
}

}  // namespace trainyard::ui
