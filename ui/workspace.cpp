// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workspace.h"

#include <QAction>
#include <QApplication>
#include <QChildEvent>
#include <QDockWidget>
#include <QMainWindow>
#include <QMenu>
#include <QScreen>
#include <QTabBar>
#include <QToolBar>
#include <algorithm>

#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr auto kState = "window/state", kGeometry = "window/geometry";
// Version of the stored state of docks. Increase it when their arrangement changes: states of other
// versions are ignored.
constexpr int kStateVersion = 8;
constexpr QSize kWindowSize(1440, 900);  // at the first start, if the screen is large enough
// Number of digit keys that show panels. From the tenth panel on, the digits are combined with
// Shift.
constexpr int kNumberKeys = 9;
constexpr int kShort = 520;  // a window lower than this is short; pixels at scale 1
constexpr int kPlotLines =
    10;  // height of a readable chart minus that of a barely visible one, in lines of text

Qt::DockWidgetArea area_of(Workspace::Area area) {
  return area == Workspace::Area::left    ? Qt::LeftDockWidgetArea
         : area == Workspace::Area::right ? Qt::RightDockWidgetArea
                                          : Qt::BottomDockWidgetArea;
}

// Focuses the content of a dock. If nothing in the content takes the focus, as in some empty
// panels, focuses the dock itself. F1 then explains this panel.
void focus_content(QDockWidget& dock, Qt::FocusReason reason) {
  dock.widget()->setFocus(reason);
  const QWidget* focused = QApplication::focusWidget();
  if (focused && focused->isVisible() && dock.isAncestorOf(focused)) return;
  dock.setFocusPolicy(Qt::ClickFocus);
  dock.setFocus(reason);
}

}  // namespace

Workspace::Workspace(QMainWindow& window, QSettings& settings)
    : QObject(&window), window_(window), settings_(settings) {
  window.setDockNestingEnabled(true);
  window.setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  make_perspectives();
  window.installEventFilter(this);
}

// Focuses the content of a dock when the user clicks its tab. Qt does not do this, so keys would
// not reach the content. Also watches for new tab bars, because Qt creates them on demand.
bool Workspace::eventFilter(QObject* watched, QEvent* event) {
  if (watched == &window_ && event->type() == QEvent::ChildPolished)
    if (auto* bar = qobject_cast<QTabBar*>(static_cast<QChildEvent*>(event)->child())) {
      bar->setElideMode(Qt::ElideNone);  // tabs that do not fit are reached by scroll buttons
      bar->setUsesScrollButtons(true);
      connect(bar, &QTabBar::tabBarClicked, this,
              [this, bar](int tab) { focus_clicked(bar->tabText(tab)); });
    }
  return QObject::eventFilter(watched, event);
}

void Workspace::focus_clicked(const QString& title) {
  for (const auto& [name, one] : docks_)
    if (one->windowTitle() == title)
      QMetaObject::invokeMethod(
          one, [dock = one] { focus_content(*dock, Qt::MouseFocusReason); }, Qt::QueuedConnection);
}

void Workspace::add(const QString& name, const QString& title, Area area, QWidget* content,
                    Shown shown) {
  auto* dock = docks_[name] = new QDockWidget(title, &window_);
  order_ << name;
  dock->setObjectName(name);
  dock->setWidget(content);
  dock->setProperty("area", static_cast<int>(area));
  dock->setProperty("on_request", shown == Shown::on_request);
  window_.addDockWidget(area_of(area), dock);
  QAction* action = dock->toggleViewAction();
  disconnect(action, &QAction::triggered, dock,
             nullptr);  // Qt would close a dock behind another tab
  connect(action, &QAction::triggered, this, [this, name] { toggle(name); });
}

// Closes the dock if it is in front. Shows and focuses the dock if it is closed or behind another
// tab.
void Workspace::toggle(const QString& name) {
  QDockWidget& one = dock(name);
  if (one.visibleRegion().isEmpty()) {
    raise(name);
    focus_content(one, Qt::ShortcutFocusReason);
  } else {
    one.close();
  }
  one.toggleViewAction()->setChecked(!one.isHidden());
}

// If all docks are hidden, emits `wanted`, so that the owner shows them again immediately.
void Workspace::request_docks() {
  if (!kept_.isEmpty()) emit wanted();
}

void Workspace::raise(const QString& name) {
  request_docks();
  dock(name).show();
  dock(name).raise();
}

void Workspace::show_charts() {
  if (is_short()) set_perspective(Perspective::run);
  else raise("charts");
}

bool Workspace::is_short() const { return window_.height() < Theme::instance().pixels(kShort); }

// Returns the height of the dock with the charts, including its tab bar. It is at least `percent`
// percent of the window's height, or the height that a chart needs. It is up to `most` percent if a
// readable chart needs that.
int Workspace::charts_height(int percent, int most) const {
  const QDockWidget& charts = dock("charts");
  const int line = charts.fontMetrics().height(),
            whole = charts.widget()->sizeHint().height() + 3 * line;
  return std::max({window_.height() * percent / 100, whole,
                   std::min(whole + kPlotLines * line, window_.height() * most / 100)});
}

bool Workspace::fit() {
  hide_tabbed_titles();
  const bool became_short = is_short() && !was_small_;
  was_small_ = is_short();
  return became_short && !dock("charts").widget()->visibleRegion().isEmpty();
}

// Hides the titles of tabbed docks if the window is low, because the tabs already show the names.
void Workspace::hide_tabbed_titles() {
  for (const auto& [name, one] : docks_) {
    const bool spared = is_short() && area(name) == Area::bottom && !one->isFloating() &&
                        !window_.tabifiedDockWidgets(one).isEmpty();
    if (spared == (one->titleBarWidget() != nullptr)) continue;
    QWidget* before = one->titleBarWidget();
    one->setTitleBarWidget(spared ? new QWidget(one) : nullptr);
    delete before;
  }
}

void Workspace::set_title(const QString& name, const QString& title) {
  dock(name).setWindowTitle(title);
}

void Workspace::fill_menu(QMenu& menu) {
  int number = 1;
  for (const QString& name : order_) {
    QAction* action = dock(name).toggleViewAction();
    action->setShortcut(QKeySequence(QString(number <= kNumberKeys ? "Alt+%1" : "Alt+Shift+%1")
                                         .arg((number - 1) % kNumberKeys + 1)));
    ++number;
    menu.addAction(action);
  }
  menu.addSeparator();
  menu.addAction(tr("&Reset layout"), QKeySequence("Alt+0"), this, &Workspace::reset);
}

void Workspace::make_perspectives() {
  const std::tuple<Perspective, QString, QKeySequence, QString> all[] = {
      {Perspective::build, tr("&Build"), QKeySequence("F8"),
       tr("Layout for the drawing and its settings")},
      {Perspective::run, tr("&Watch"), QKeySequence("F9"),
       tr("Layout for the drawing and live charts")},
      {Perspective::compare, tr("&Compare"), QKeySequence("F12"),
       tr("Layout for overlaid runs and their differences")}};
  for (const auto& [perspective, text, keys, tip] : all) {
    auto* action = new QAction(text, this);
    action->setShortcut(keys);
    action->setToolTip(tip + " (" + keys.toString(QKeySequence::NativeText) + ")");
    action->setStatusTip(tip);
    connect(action, &QAction::triggered, this,
            [this, perspective = perspective] { set_perspective(perspective); });
    perspectives_ << action;
  }
}

void Workspace::fill_toolbar(QToolBar& bar) { bar.addActions(perspectives_); }
void Workspace::fill_perspectives(QMenu& menu) { menu.addActions(perspectives_); }

void Workspace::set_perspective(Perspective perspective) {
  request_docks();
  const bool build = perspective == Perspective::build,
             compare = perspective == Perspective::compare;
  const int width = window_.width();
  for (const char* name : {"palette", "drawing"}) dock(name).setVisible(build);
  dock("inspector").setVisible(build || (!compare && !is_short()));
  dock("inspector").raise();
  lay_out_bottom(compare);
  raise(compare ? "runs" : build ? "problems" : "charts");
  if (compare)
    window_.resizeDocks({&dock("runs"), &dock("charts")}, {width * 2 / 5, width * 3 / 5},
                        Qt::Horizontal);
  const int charts = build     ? charts_height(30, 40)
                     : compare ? charts_height(75, 75)
                               : charts_height(50, 60);
  window_.resizeDocks({&dock("charts")}, {charts}, Qt::Vertical);
}

void Workspace::reset() {
  const bool bare = !kept_.isEmpty();
  kept_.clear();
  lay_out();
  if (bare) hide_all_docks(true);
}

void Workspace::lay_out() {
  const int width = Theme::instance().pixels(360), narrow = Theme::instance().pixels(208);
  for (const QString& name : order_) {
    if (on_request(name)) dock(name).hide();
    if (area(name) == Area::bottom) continue;
    put(name, Qt::Vertical);
    dock(name).show();
  }
  lay_out_bottom(false);
  raise("charts");
  window_.resizeDocks({&dock("palette"), &dock("inspector")}, {narrow, width}, Qt::Horizontal);
  window_.resizeDocks({&dock("charts")}, {charts_height(42, 60)}, Qt::Vertical);
  window_.resizeDocks({&dock("palette"), &dock("drawing")}, {3, 2}, Qt::Vertical);
}

Workspace::Area Workspace::area(const QString& name) const {
  return static_cast<Area>(dock(name).property("area").toInt());
}

bool Workspace::on_request(const QString& name) const {
  return dock(name).property("on_request").toBool();
}

// Hides empty tab bars. If docks are tabbed again before they were laid out, Qt keeps their old tab
// bars and paints them.
void Workspace::hide_stray_bars() {
  QMetaObject::invokeMethod(
      this,
      [this] {
        for (QTabBar* bar : window_.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly))
          if (bar->count() == 0) bar->hide();
      },
      Qt::QueuedConnection);
}

// Docks a panel in its area of the window, beside the panels that are already there.
void Workspace::put(const QString& name, Qt::Orientation orientation) {
  QDockWidget& one = dock(name);
  one.setFloating(false);
  window_.removeDockWidget(&one);
  window_.addDockWidget(area_of(area(name)), &one, orientation);
}

// Arranges the docks at the bottom as tabs, in their order. `charts_apart`: true if the charts are
// beside the tabs instead, as when runs are compared: the list of runs selects what the charts
// show.
void Workspace::lay_out_bottom(bool charts_apart) {
  QDockWidget* first = nullptr;
  for (const QString& name : order_) {
    if (area(name) != Area::bottom || (charts_apart && name == "charts")) continue;
    const bool shown = !on_request(name) || !dock(name).isHidden();
    put(name, Qt::Horizontal);
    dock(name).setVisible(shown);
    if (first) window_.tabifyDockWidget(first, &dock(name));
    else first = &dock(name);
  }
  if (charts_apart) put("charts", Qt::Horizontal), dock("charts").show();
  hide_tabbed_titles();
  hide_stray_bars();
}

void Workspace::restore() {
  if (!window_.restoreGeometry(settings_.value(kGeometry).toByteArray()))
    window_.resize(kWindowSize.boundedTo(window_.screen()->availableSize()));
  reset();
  window_.restoreState(settings_.value(kState).toByteArray(), kStateVersion);
}

void Workspace::hide_all_docks(bool bare) {
  if (bare == !kept_.isEmpty()) return;
  if (bare) {
    kept_ = window_.saveState(kStateVersion);
    for (const auto& [name, one] : docks_) one->hide();
  } else {
    window_.restoreState(std::exchange(kept_, {}), kStateVersion);
  }
  hide_stray_bars();
}

void Workspace::save() {
  settings_.setValue(kGeometry, window_.saveGeometry());
  settings_.setValue(kState, kept_.isEmpty() ? window_.saveState(kStateVersion) : kept_);
}

}  // namespace trainyard::ui
