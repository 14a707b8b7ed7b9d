// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/actions.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>
#include <algorithm>

#include "ui/model/document/clipboard.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/icons.h"

namespace trainyard::ui {
namespace {

std::size_t nodes_in(const topology::Topology& topology, const std::set<std::string>& names) {
  const auto in = [&](const auto& thing) { return names.contains(thing.name); };
  return static_cast<std::size_t>(std::ranges::count_if(topology.hosts, in) +
                                  std::ranges::count_if(topology.switches, in));
}

// Returns the host to which devices without a host are added: a selected host, else the host of a
// selected device; empty if there is neither.
std::string home_of(const topology::Topology& topology, const SelectedObjects& picked) {
  for (const std::string& name : picked.names) {
    if (find_host(topology, name)) return name;
    if (const topology::Host* host = host_of(topology, name)) return host->name;
  }
  return "";
}

}  // namespace

CanvasActions::CanvasActions(Document& document, Selection& selection, TopologyView& view,
                             QObject* parent)
    : QObject(parent), document_(document), selection_(selection), view_(view) {
  add_edits();
  add_roles();
  add_places();
  add_arrangements();
  add_views();
  view.add_to_context_menu(
      [this](QMenu& menu, const TopologyObject& part) { fill_context_menu(menu, part); });
  connect(&selection, &Selection::selection_changed, this, &CanvasActions::enable);
  connect(&document, &Document::changed, this, &CanvasActions::enable);
  connect(QGuiApplication::clipboard(), &QClipboard::dataChanged, this, &CanvasActions::enable);
  enable();
}

QAction* CanvasActions::action(const QString& name) const { return actions_.at(name); }

QAction* CanvasActions::add(const QString& name, const QString& icon_name, const QString& text,
                            const QKeySequence& keys, const std::function<void()>& run) {
  auto* action = new QAction(icon(icon_name), text, this);
  action->setObjectName(name);
  action->setShortcut(keys);
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);  // text fields keep their Ctrl+C
  connect(action, &QAction::triggered, this, run);
  view_.addAction(action);
  return actions_[name] = action;
}

void CanvasActions::add_edits() {
  add("cut", "cut", tr("Cu&t"), QKeySequence::Cut, [this] { copy(), remove(tr("Cut")); });
  add("copy", "copy", tr("&Copy"), QKeySequence::Copy, [this] { copy(); });
  add("paste", "paste", tr("&Paste"), QKeySequence::Paste, [this] { paste(); });
  add("duplicate", "duplicate", tr("D&uplicate"), QKeySequence("Ctrl+D"), [this] {
    add_fragment(tr("Duplicate"), copy_of(document_.experiment().topology, selection_.picked()));
  });
  add("delete", "delete", tr("&Delete"), QKeySequence::Delete, [this] { remove(tr("Delete")); });
  add("select_all", "select", tr("Select &all"), QKeySequence::SelectAll,
      [this] { selection_.set(everything(document_.experiment().topology)); });
  add("rename", "rename", tr("&Rename"), QKeySequence("F2"), [this] { view_.rename_current(); });
}

void CanvasActions::add_roles() {
  const auto add_role = [this](const char* name, const QString& text, const char* keys,
                               topology::Role role) {
    add(name, role_icon(role), text, QKeySequence(keys), [this, role] { toggle(role); });
  };
  add_role("toggle_chief", tr("C&hief (writes checkpoints)"), "Ctrl+H", topology::Role::chief);
  add_role("toggle_server", tr("Parameter &server (stores variables)"), "Ctrl+Shift+I",
           topology::Role::parameter_server);
  add_role("toggle_evaluator", tr("&Evaluator (measures held-out samples)"), "Ctrl+E",
           topology::Role::evaluator);
  add_role("toggle_idle", tr("&Idle (not used)"), "Ctrl+I", topology::Role::idle);
}

void CanvasActions::add_places() {
  add("place_cpu", "cpu", tr("&CPU"), QKeySequence("Ctrl+1"),
      [this] { view_.place_in_middle(PaletteKind::cpu); });
  add("place_gpu", "gpu", tr("&GPU"), QKeySequence("Ctrl+2"),
      [this] { view_.place_in_middle(PaletteKind::gpu); });
  add("place_tpu", "tpu", tr("&TPU"), QKeySequence("Ctrl+3"),
      [this] { view_.place_in_middle(PaletteKind::tpu); });
  add("place_host", "host", tr("&Host"), QKeySequence("Ctrl+4"),
      [this] { view_.place_in_middle(PaletteKind::host); });
  add("place_switch", "switch", tr("&Switch"), QKeySequence("Ctrl+5"),
      [this] { view_.place_in_middle(PaletteKind::network_switch); });
  add("add_machine", "add", tr("Add &machine ..."), QKeySequence("Ctrl+6"),
      [this] { emit machine_requested(); });
}

void CanvasActions::add_arrangements() {
  const struct {
    const char* name;
    const char* icon;
    const char* text;
    const char* keys;
    Edge edge;
  } edges[] = {
      {"align_left", "align-left", QT_TR_NOOP("Align &left"), "Ctrl+Shift+Left", Edge::left},
      {"align_center", "align-center", QT_TR_NOOP("Align &centers"), "Ctrl+Shift+C", Edge::center},
      {"align_right", "align-right", QT_TR_NOOP("Align &right"), "Ctrl+Shift+Right", Edge::right},
      {"align_top", "align-top", QT_TR_NOOP("Align &top"), "Ctrl+Shift+Up", Edge::top},
      {"align_middle", "align-middle", QT_TR_NOOP("Align &middles"), "Ctrl+Shift+M", Edge::middle},
      {"align_bottom", "align-bottom", QT_TR_NOOP("Align &bottom"), "Ctrl+Shift+Down",
       Edge::bottom}};
  for (const auto& one : edges)
    add(one.name, one.icon, tr(one.text), QKeySequence(one.keys), [this, edge = one.edge] {
      change(tr("Align"),
             [&](topology::Topology& t) { align(t, selection_.picked().names, edge); });
    });
  const auto spread = [this](Qt::Orientation way) {
    change(tr("Distribute"),
           [&](topology::Topology& t) { distribute(t, selection_.picked().names, way); });
  };
  add("distribute_horizontally", "distribute-horizontally", tr("Distribute &horizontally"),
      QKeySequence("Ctrl+Shift+H"), [spread] { spread(Qt::Horizontal); });
  add("distribute_vertically", "distribute-vertically", tr("Distribute &vertically"),
      QKeySequence("Ctrl+Shift+V"), [spread] { spread(Qt::Vertical); });
  add("arrange", "arrange", tr("&Arrange everything"), QKeySequence("Ctrl+L"), [this] {
    change(tr("Arrange"), [](topology::Topology& t) { arrange(t); });
    view_.zoom_to_fit();
  });
}

void CanvasActions::add_views() {
  add("select_tool", "select", tr("&Select and move"), QKeySequence("V"), [this] {
    view_.set_tool(TopologyView::Tool::select);
  })->setCheckable(true);
  add("connect_tool", "connect", tr("&Connect"), QKeySequence("C"), [this] {
    view_.set_tool(TopologyView::Tool::connect);
  })->setCheckable(true);
  const auto check = [this] {
    action("select_tool")->setChecked(view_.tool() == TopologyView::Tool::select);
    action("connect_tool")->setChecked(view_.tool() == TopologyView::Tool::connect);
  };
  connect(&view_, &TopologyView::tool_changed, this, check);
  for (const char* name : {"select_tool", "connect_tool"})
    connect(action(name), &QAction::triggered, this, check);
  check();
  add("zoom_in", "zoom-in", tr("Zoom &in"), QKeySequence::ZoomIn, [this] { view_.zoom_by(1.25); });
  add("zoom_out", "zoom-out", tr("Zoom &out"), QKeySequence::ZoomOut,
      [this] { view_.zoom_by(0.8); });
  add("zoom_actual", "zoom-box", tr("&Actual size"), QKeySequence("Ctrl+0"),
      [this] { view_.zoom_actual(); });
  add("zoom_fit", "zoom-fit", tr("Zoom to &fit"), QKeySequence("Ctrl+9"),
      [this] { view_.zoom_to_fit(); });
}

void CanvasActions::fill(QMenu& menu, const QStringList& names) const {
  for (const QString& name : names)
    if (name.isEmpty()) menu.addSeparator();
    else menu.addAction(action(name));
}

void CanvasActions::fill_edit_menu(QMenu& menu) const {
  fill(menu, {"cut", "copy", "paste", "duplicate", "delete", "", "select_all", "rename", "",
              "toggle_chief", "toggle_server", "toggle_evaluator", "toggle_idle", "", "select_tool",
              "connect_tool"});
}
void CanvasActions::fill_place_menu(QMenu& menu) const {
  fill(menu, {"place_cpu", "place_gpu", "place_tpu", "", "place_host", "place_switch", "",
              "add_machine"});
}
void CanvasActions::fill_arrange_menu(QMenu& menu) const {
  fill(menu,
       {"align_left", "align_center", "align_right", "", "align_top", "align_middle",
        "align_bottom", "", "distribute_horizontally", "distribute_vertically", "", "arrange"});
}
void CanvasActions::fill_view_menu(QMenu& menu) const {
  fill(menu, {"zoom_in", "zoom_out", "zoom_actual", "zoom_fit"});
}

void CanvasActions::fill_context_menu(QMenu& menu, const TopologyObject& part) const {
  if (part.kind == TopologyObject::Kind::device)
    fill(menu, {"rename", "", "toggle_chief", "toggle_server", "toggle_evaluator", "toggle_idle",
                "", "cut", "copy", "duplicate", "delete"});
  else if (part.kind == TopologyObject::Kind::host)
    fill(menu, {"place_cpu", "place_gpu", "place_tpu", "", "rename", "", "cut", "copy", "paste",
                "duplicate", "delete"});
  else if (part.kind == TopologyObject::Kind::network_switch)
    fill(menu, {"rename", "", "cut", "copy", "duplicate", "delete"});
  else if (part.kind == TopologyObject::Kind::link) fill(menu, {"delete"});
  else
    fill(menu, {"place_cpu", "place_gpu", "place_tpu", "place_host", "place_switch", "", "paste",
                "select_all", "", "arrange", "zoom_fit"});
  if (part.is_node() && selection_.picked().names.size() > 1)
    fill_arrange_menu(*menu.addMenu(tr("Arran&ge")));
}

void CanvasActions::enable() {
  const topology::Topology& topology = document_.experiment().topology;
  const SelectedObjects& picked = selection_.picked();
  const std::size_t nodes = nodes_in(topology, picked.names);
  const auto devices = std::ranges::count_if(picked.names, [&](const std::string& name) {
    return find_device(topology, name) != nullptr;
  });
  for (const char* name : {"cut", "copy", "duplicate"})
    action(name)->setEnabled(!picked.names.empty());
  action("delete")->setEnabled(!picked.empty());
  action("rename")->setEnabled(picked.names.size() == 1);
  for (const char* name : {"toggle_idle", "toggle_server"}) action(name)->setEnabled(devices > 0);
  // Enables the actions for the roles chief and evaluator only for a single selected device,
  // because only one device may be the chief, and only one the evaluator.
  for (const char* name : {"toggle_chief", "toggle_evaluator"})
    action(name)->setEnabled(devices == 1);
  action("paste")->setEnabled(QGuiApplication::clipboard()->mimeData() &&
                              QGuiApplication::clipboard()->mimeData()->hasFormat(kTopologyMime));
  for (const char* name :
       {"align_left", "align_center", "align_right", "align_top", "align_middle", "align_bottom"})
    action(name)->setEnabled(nodes > 1);
  for (const char* name : {"distribute_horizontally", "distribute_vertically"})
    action(name)->setEnabled(nodes > 2);
  for (const char* name : {"select_all", "arrange"})
    action(name)->setEnabled(!topology.hosts.empty() || !topology.switches.empty());
}

void CanvasActions::change(const QString& text,
                           const std::function<void(topology::Topology&)>& change) {
  document_.edit(text, [&](experiment::Experiment& experiment) { change(experiment.topology); });
}

void CanvasActions::copy() {
  const Fragment fragment = copy_of(document_.experiment().topology, selection_.picked());
  if (fragment.empty()) return;
  QGuiApplication::clipboard()->setMimeData(to_mime(fragment).release());
}

void CanvasActions::paste() {
  if (const auto fragment = from_mime(QGuiApplication::clipboard()->mimeData()))
    add_fragment(tr("Paste"), *fragment);
}

// Adds a host for `devices` devices in the center of the view, or next to the center if it is
// occupied.
std::string CanvasActions::add_home(topology::Topology& topology, std::size_t devices) const {
  const Position middle = snapped({view_.middle().x(), view_.middle().y()});
  topology::Topology alone;
  topology::Host& room = alone.hosts.emplace_back();
  room.x = middle.x, room.y = middle.y;
  room.devices.resize(devices);
  const Position by = free_offset(topology, alone);
  return add_host(topology, {middle.x + by.x, middle.y + by.y});
}

void CanvasActions::add_fragment(const QString& text, const Fragment& fragment) {
  if (fragment.empty()) return;
  SelectedObjects added;
  change(text, [&](topology::Topology& t) {
    std::string home = home_of(t, selection_.picked());
    if (!fragment.devices.empty() && home.empty()) home = add_home(t, fragment.devices.size());
    make_room(t, home, fragment.devices.size());
    topology::Topology grown = t;
    if (topology::Host* host = find_host(grown, home))
      host->devices.resize(host->devices.size() + fragment.devices.size());
    added = ui::paste(t, fragment, free_offset(grown, fragment.topology), home);
  });
  selection_.set(added);
  view_.reveal(added);
}

void CanvasActions::remove(const QString& text) {
  change(text, [&](topology::Topology& t) { ui::remove(t, selection_.picked()); });
}

// Gives the role to all selected devices. If the first selected device already has the role, all
// selected devices become workers.
void CanvasActions::toggle(topology::Role role) {
  const topology::Topology& topology = document_.experiment().topology;
  for (const std::string& name : selection_.picked().names)
    if (const topology::Device* first = find_device(topology, name))
      return view_.give_role(first->role == role ? topology::Role::worker : role);
}

}  // namespace trainyard::ui
