// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dock_panels.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QPushButton>
#include <QStatusBar>
#include <QVBoxLayout>
#include <memory>

#include "ui/canvas/topology_tree.h"
#include "ui/canvas/traffic_text.h"
#include "ui/model/runs/machine_gpus.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {

DockPanels::DockPanels(QMainWindow& window, Workspace& workspace, CentralArea& center,
                       Document& document, Selection& selection, const Services& services)
    : inspector(*new Inspector(document, selection, &window)),
      charts(*new RunCharts(&window)),
      timeline(*new TimelinePanel(&window)),
      plan(*new PlanPanel(document, &window)),
      stepper(*new StepperPanel(document, &window)),
      staleness(*new StalenessPanel(&window)),
      log(*new LogPanel(&window)),
      problems(*new ProblemsPanel(document, &window)),
      runs(*new RunsPanel(services.runs_directory, &window)),
      scaling(*new ScalingPanel(document, services, &window)),
      text(*new SampledTextPanel(&window)),
      model(*new ModelPanel(document, &window)),
      machines(*new MachinesPanel(document, services, &window)),
      palette(*new Palette(&window)),
      known_machines(*new KnownMachines(&window)),
      joined_machines(*new JoinedMachines(services, &window)),
      window_(window) {
  using Area = Workspace::Area;
  workspace.add("palette", tr("Palette"), Area::left, make_palette(center, services));
  workspace.add("drawing", tr("Drawing"), Area::left, make_tree(document, selection));
  workspace.add("inspector", tr("Inspector"), Area::right, &inspector);
  workspace.add("charts", tr("Charts"), Area::bottom, &charts);
  workspace.add("timeline", tr("Timeline"), Area::bottom, &timeline);
  workspace.add("plan", tr("Plan"), Area::bottom, &plan);
  workspace.add("stepper", tr("Stepper"), Area::bottom, &stepper);
  workspace.add("staleness", tr("Staleness"), Area::bottom, &staleness);
  workspace.add("log", tr("Log"), Area::bottom, &log);
  workspace.add("problems", tr("Problems"), Area::bottom, &problems);
  workspace.add("runs", tr("Runs"), Area::bottom, &runs);
  workspace.add("scaling", tr("Scaling"), Area::bottom, &scaling);
  workspace.add("text", tr("Text"), Area::bottom, &text);
  workspace.add("model", tr("Model"), Area::bottom, &model);
  workspace.add("machines", tr("Machines"), Area::bottom, &machines, Workspace::Shown::on_request);
  connect_inspector(center.canvas());
  announce_dropped_fields(document);
  connect_problems(workspace);
  connect_stepper(center.canvas(), workspace);
  connect_model(center.canvas(), workspace);
  connect(&charts, &RunCharts::frozen_changed, &timeline, &TimelinePanel::set_frozen);
}

QWidget* DockPanels::make_palette(CentralArea& center, const Services& services) {
  connect(&palette, &Palette::chosen, this, [&center](PaletteKind kind) {
    center.show_welcome(false), center.canvas().place_in_middle(kind);
  });
  connect(&palette, &Palette::machine_chosen, this, [&center](const topology::Host& machine) {
    center.show_welcome(false), center.canvas().place_in_middle(machine);
  });
  connect(&palette, &Palette::gpu_chosen, this, [&center](const topology::Device& gpu) {
    center.show_welcome(false), center.canvas().place_in_middle(gpu);
  });
  auto* gpus = new MachineGpus(this);
  connect(gpus, &MachineGpus::found, &palette, &Palette::offer);
  gpus->look(services);
  connect(&palette, &Palette::role_chosen, &center.canvas(),
          qOverload<topology::Role>(&TopologyView::give_role));
  connect(&known_machines, &KnownMachines::changed, this, &DockPanels::offer_machines);
  connect(&joined_machines, &JoinedMachines::changed, &known_machines,
          [this] { known_machines.set_joined(joined_machines.machines()); });
  offer_machines();
  inspector.set_machines([this] { return known_machines.suggestions(); });
  auto* content = new QWidget(&window_);
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(&palette, 1);
  auto* add = new QPushButton(icon("add"), tr("Add machine ..."), content);
  add->setToolTip(tr("Make another machine ready for runs, and draw it"));
  add->setObjectName("add_machine_button");
  column->addWidget(add);
  connect(add, &QPushButton::clicked, this, &DockPanels::machine_requested);
  content->setFocusProxy(&palette);
  return content;
}

// Offers this machine, the machines that were added, and those that joined.
void DockPanels::offer_machines() {
  std::vector<topology::Host> hosts{drawn_host(this_machine())};
  for (const session::Machine& machine : known_machines.machines())
    hosts.push_back(drawn_host(machine));
  std::map<std::string, QString> states;
  for (const JoinedMachine& one : known_machines.joined()) {
    hosts.push_back(drawn_host(one.machine));
    states[one.machine.destination] = contact_text(one);
  }
  palette.offer_machines(hosts, states);
}

QWidget* DockPanels::make_tree(Document& document, Selection& selection) {
  auto* tree = new TopologyTree(document, selection, &window_);
  connect(tree, &TopologyTree::message, window_.statusBar(),
          [this](const QString& note) { window_.statusBar()->showMessage(note, 5000); });
  return tree;
}

void DockPanels::connect_inspector(TopologyView& canvas) {
  connect(&inspector, &Inspector::picture_requested, &canvas, &TopologyView::show_logical);
  connect(&inspector.cost(), &CostLine::stages_known, &canvas,
          [&canvas](const StageAssignment& stages) { canvas.show_layers(stages.layers); });
  connect(&inspector.cost(), &CostLine::shards_known, &canvas, &TopologyView::show_shards);
  connect(&inspector.cost(), &CostLine::pipeline_known, &timeline, &TimelinePanel::set_drawing);
  inspector.set_measured([&canvas](const SelectedObjects& picked) {
    const auto& overlay = canvas.topology_scene().overlay();
    return overlay ? lines_of_picked(*overlay, picked) : QStringList();
  });
  connect(&canvas.topology_scene(), &TopologyScene::overlay_changed, &inspector,
          &Inspector::show_measured);
}

void DockPanels::announce_dropped_fields(Document& document) {
  const auto announced = std::make_shared<QString>();
  connect(&document, &Document::fields_dropped, this, [this, announced](const QStringList& fields) {
    *announced = tr("Dropped %n setting(s) that the chosen kind does not have: %1. Undo restores "
                    "the values.",
                    nullptr, static_cast<int>(fields.size()))
                     .arg(fields.join(", "));
    window_.statusBar()->showMessage(*announced, 8000);
  });
  connect(&document.undo_stack(), &QUndoStack::canRedoChanged, this,
          [this, announced](bool undone) {
            if (undone && window_.statusBar()->currentMessage() == *announced)
              window_.statusBar()->clearMessage();
          });
}

void DockPanels::connect_problems(Workspace& workspace) {
  connect(&inspector.cost(), &CostLine::memory_problems_known, &problems,
          &ProblemsPanel::set_memory_problems);
  connect(&problems, &ProblemsPanel::count_changed, &workspace, [&workspace](int count) {
    workspace.set_title("problems", count == 0 ? tr("Problems") : tr("Problems (%1)").arg(count));
  });
}

// While the stepper is visible, shows its collective on the canvas.
void DockPanels::connect_stepper(TopologyView& canvas, Workspace& workspace) {
  connect(&stepper, &StepperPanel::transit_changed, &canvas.topology_scene(),
          &TopologyScene::set_transit);
  connect(&workspace.dock("stepper"), &QDockWidget::visibilityChanged, &stepper,
          &StepperPanel::set_in_front);
}

// Connects the model panel and the canvas: layers can be dragged to devices, and the devices that
// have the selected layers are highlighted.
void DockPanels::connect_model(TopologyView& canvas, Workspace& workspace) {
  connect(&model, &ModelPanel::pointed, &canvas, &TopologyView::highlight_devices);
  connect(&workspace.dock("model"), &QDockWidget::visibilityChanged, &model, &ModelPanel::set_seen);
  connect(&model, &ModelPanel::message, window_.statusBar(),
          [this](const QString& note) { window_.statusBar()->showMessage(note, 8000); });
  connect(&canvas, &TopologyView::layers_dropped, &model, &ModelPanel::move_to_device);
}

}  // namespace trainyard::ui
