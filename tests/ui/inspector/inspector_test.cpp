// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/inspector.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

#include "tests/ui/inspector/inspector_fixture.h"
#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {
namespace {

TEST_F(InspectorTest, fraction_steps_by_one_two_five) {
  FieldEditor* rate = inspector_.form("training").editor("optimizer.learning_rate");
  rate->setFocus();
  QTest::keyClick(rate->focusProxy(), Qt::Key_Up);
  EXPECT_DOUBLE_EQ(now().training.optimizer.learning_rate, 0.2);
  QTest::keyClick(rate->focusProxy(), Qt::Key_Down);
  QTest::keyClick(rate->focusProxy(), Qt::Key_Down);
  EXPECT_DOUBLE_EQ(now().training.optimizer.learning_rate, 0.05);
}

TEST_F(InspectorTest, choice_is_selected_by_keyboard) {
  auto* kind = inner<QComboBox>(inspector_.form("strategy").editor("kind"));
  kind->setFocus();
  QTest::keyClick(kind, Qt::Key_Up);
  EXPECT_EQ(now().strategy.kind, experiment::StrategyKind::one_device);
  document_.undo_stack().undo();
  EXPECT_EQ(kind->currentData().toString(), "mirrored");
}

TEST_F(InspectorTest, check_box_is_toggled) {
  auto* emulate = inner<QCheckBox>(inspector_.form("run").editor("emulate"));
  QTest::keyClick(emulate, Qt::Key_Space);
  EXPECT_FALSE(now().run.emulate);
  document_.undo_stack().undo();
  EXPECT_TRUE(emulate->isChecked());
}

TEST_F(InspectorTest, measurements_of_the_selected_item_are_above_its_fields) {
  QStringList lines{"Traffic of the host bus: 3 MB/s", "activations 3 MB/s"};
  inspector_.set_measured([&](const SelectedObjects& picked) {
    return picked.names.contains("host0") ? lines : QStringList();
  });
  selection_.set({{"cpu0"}, {}});
  EXPECT_EQ(inspector_.measured(), "");
  selection_.set({{"host0"}, {}});
  EXPECT_EQ(inspector_.measured(), "Traffic of the host bus: 3 MB/s\nactivations 3 MB/s");
  lines.clear();
  inspector_.show_measured();
  EXPECT_EQ(inspector_.measured(), "") << "the run is over";
}

TEST_F(InspectorTest, text_is_typed_and_undone) {
  type(inspector_.form("").editor("name"), "mine");
  EXPECT_EQ(now().name, "mine");
  document_.undo_stack().undo();
  EXPECT_EQ(now().name, "sample");
}

TEST_F(InspectorTest, unused_fields_are_hidden) {
  FieldForm& training = inspector_.form("training");
  EXPECT_TRUE(training.field_shown("optimizer.momentum"));
  EXPECT_FALSE(training.field_shown("optimizer.beta1"));
  document_.set_value("training.optimizer.kind", "adamw");
  EXPECT_FALSE(training.field_shown("optimizer.momentum"));
  EXPECT_FALSE(training.editor("optimizer.momentum")->isVisibleTo(&inspector_));
  EXPECT_TRUE(training.editor("optimizer.beta1")->isVisibleTo(&inspector_));
  document_.set_value("data.kind", "idx");
  EXPECT_TRUE(inspector_.form("data").field_shown("images"));
  EXPECT_FALSE(inspector_.form("data").field_shown("noise"));
}

TEST_F(InspectorTest, semantic_problem_appears_at_its_field_until_it_is_fixed) {
  FieldForm& strategy = inspector_.form("strategy");
  document_.set_value("strategy.kind", "one_device");
  wait_for_problems(1);
  EXPECT_TRUE(strategy.problem_text("kind").contains("2 devices"))
      << strategy.problem_text("kind").toStdString();
  EXPECT_TRUE(strategy.editor("kind")->focusProxy()->accessibleDescription().contains("2 devices"));
  document_.undo_stack().undo();
  wait_for_problems(0);
  EXPECT_EQ(strategy.problem_text("kind"), "");
}

TEST_F(InspectorTest, field_is_reset_to_its_default) {
  FieldForm& training = inspector_.form("training");
  document_.set_value("training.batch_per_rank", 7);
  const auto buttons = training.findChildren<QToolButton*>();
  QToolButton* reset = nullptr;
  for (QToolButton* button : buttons)
    if (button->accessibleName().startsWith("Batch per rank") && button->isVisibleTo(&training))
      reset = button;
  ASSERT_NE(reset, nullptr);
  EXPECT_TRUE(reset->toolTip().contains("32 samples"));
  reset->click();
  EXPECT_EQ(now().training.batch_per_rank, 32);
  EXPECT_FALSE(reset->isVisibleTo(&training));
}

// Returns the visible reset buttons by the labels of their fields.
QStringList resets_of(const FieldForm& form) {
  QStringList labels;
  for (const QToolButton* button : form.findChildren<QToolButton*>())
    if (button->toolTip().startsWith("Reset") && !button->isHidden())
      labels << button->accessibleName().section(':', 0, 0);
  return labels;
}

TEST_F(InspectorTest, required_fields_and_positions_cannot_be_reset) {
  document_.edit("draw", [](experiment::Experiment& e) {
    e.topology.links.push_back({.from = "cpu0", .to = "cpu1", .latency_seconds = 1});
    e.topology.hosts[0].x = e.topology.hosts[0].y = 96;
    e.topology.hosts[0].address = "10.0.0.1";
    e.topology.hosts[0].devices[0].cores = 3;
  });
  const auto resets = [&](const SelectedObjects& picked) {
    selection_.set(picked);
    return resets_of(inspector_.item_form());
  };
  EXPECT_EQ(resets({{"cpu0"}, {}}), QStringList("Cores"));
  EXPECT_EQ(resets({{"host0"}, {}}), QStringList("Machine"));
  EXPECT_EQ(resets({{}, {{"cpu0", "cpu1"}}}), QStringList("Latency"));
  EXPECT_EQ(resets_of(inspector_.form("")), QStringList("Name")) << "a name is optional";
}

TEST_F(InspectorTest, global_batch_is_beside_the_batch) {
  document_.set_value("training.batch_per_rank", 50);
  bool found = false;
  for (const QLabel* label : inspector_.form("training").findChildren<QLabel*>())
    found |= label->text().contains("100 samples") && label->isVisibleTo(&inspector_);
  EXPECT_TRUE(found);
}

TEST_F(InspectorTest, fields_of_a_selected_device_are_shown_and_renaming_updates_links) {
  document_.edit("link", [](experiment::Experiment& e) {
    e.topology.links.push_back({.from = "cpu0", .to = "cpu1"});
  });
  selection_.set({{"cpu0"}, {}});
  EXPECT_FALSE(inspector_.shows_experiment());
  const int before = document_.undo_stack().count();
  type(inspector_.item_form().editor("name"), "fast");
  EXPECT_EQ(now().topology.hosts[0].devices[0].name, "fast");
  EXPECT_EQ(now().topology.links[0].from, "fast");
  EXPECT_TRUE(selection_.contains("fast"));
  EXPECT_TRUE(inspector_.item_form().editor("name")->focusProxy()->hasFocus());
  EXPECT_EQ(document_.undo_stack().count(), before + 1);
}

TEST_F(InspectorTest, several_devices_are_edited_together_as_one_command) {
  selection_.set({{"cpu0", "cpu1"}, {}});
  type(inspector_.item_form().editor("cores"), "3");
  for (const topology::Device& device : now().topology.hosts[0].devices) EXPECT_EQ(device.cores, 3);
  EXPECT_EQ(inspector_.item_form().editor("name"), nullptr) << "names are unique";
  document_.undo_stack().undo();
  for (const topology::Device& device : now().topology.hosts[0].devices) EXPECT_EQ(device.cores, 1);
}

TEST_F(InspectorTest, items_of_different_kinds_cannot_be_edited_together) {
  selection_.set({{"cpu0", "host0"}, {}});
  EXPECT_FALSE(inspector_.item_form().isVisibleTo(&inspector_));
}

TEST_F(InspectorTest, problem_of_a_device_appears_at_its_field) {
  document_.edit("gpu", [](experiment::Experiment& e) {
    e.topology.hosts[0].devices[1].kind = topology::DeviceKind::gpu;
    e.run.emulate = false;
  });
  wait_for_problems(1);
  inspector_.go_to("topology.hosts[0].devices[1].kind");
  EXPECT_TRUE(selection_.contains("cpu1"));
  EXPECT_TRUE(inspector_.item_form().problem_text("kind").contains("emulat"));
  EXPECT_TRUE(inspector_.item_form().editor("kind")->focusProxy()->hasFocus());
}

TEST_F(InspectorTest, navigation_to_a_nested_field_sets_the_focus) {
  inspector_.go_to("training.optimizer.learning_rate");
  EXPECT_TRUE(
      inspector_.form("training").editor("optimizer.learning_rate")->focusProxy()->hasFocus());
}

TEST_F(InspectorTest, layers_are_added_moved_and_removed) {
  LayerList& layers = inspector_.layers();
  ASSERT_EQ(layers.count(), 3);
  layers.findChild<QPushButton*>("add_layer")->click();
  ASSERT_EQ(layers.count(), 5);
  EXPECT_EQ(now().model.layers[2], (model::LayerSpec{model::LayerKind::linear, 128}));
  EXPECT_EQ(now().model.layers[3].kind, model::LayerKind::relu);
  EXPECT_EQ(document_.undo_stack().count(), 1);
  layers.focus_layer(3);
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Up, Qt::AltModifier);
  EXPECT_EQ(now().model.layers[2].kind, model::LayerKind::relu);
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Delete, Qt::AltModifier);
  EXPECT_EQ(now().model.layers.size(), 4u);
  EXPECT_EQ(now().model.layers[2].kind, model::LayerKind::linear) << "the moved layer was removed";
  while (document_.undo_stack().canUndo()) document_.undo_stack().undo();
  EXPECT_EQ(layers.count(), 3);
}

TEST_F(InspectorTest, layers_are_added_before_the_output_layer_except_wide) {
  document_.edit("wide", [](experiment::Experiment& e) {
    e.model.layers.push_back({.kind = model::LayerKind::wide});
  });
  LayerList& layers = inspector_.layers();
  layers.findChild<QPushButton*>("add_layer")->click();
  ASSERT_EQ(layers.count(), 6);
  EXPECT_EQ(now().model.layers[2], (model::LayerSpec{model::LayerKind::linear, 128}));
  EXPECT_EQ(now().model.layers[4].kind, model::LayerKind::linear);
  EXPECT_EQ(now().model.layers[5].kind, model::LayerKind::wide);
  for (const char* field :
       {"slots", "rows"})  // of a new row, which is shown when events are handled
    EXPECT_TRUE(
        QTest::qWaitFor([&] { return layers.editor(5, field)->isVisibleTo(&inspector_); }, 5000))
        << field;
  EXPECT_FALSE(layers.editor(5, "width")->isVisibleTo(&inspector_))
      << "the output layer has one unit per class";
}

TEST_F(InspectorTest, units_of_a_layer_are_hidden_if_unused) {
  LayerList& layers = inspector_.layers();
  type(layers.editor(0, "units"), "64");
  EXPECT_EQ(now().model.layers[0].units, 64);
  EXPECT_FALSE(layers.editor(1, "units")->isVisibleTo(&inspector_)) << "relu has no units";
}

TEST_F(InspectorTest, layer_has_the_fields_of_its_kind) {
  LayerList& layers = inspector_.layers();
  document_.edit("image layers", [](experiment::Experiment& e) {
    e.model.layers.insert(
        e.model.layers.begin(),
        {{model::LayerKind::conv2d}, {model::LayerKind::batch_norm}, {model::LayerKind::dropout}});
  });
  const auto shows = [&](int layer) {
    QStringList names;
    for (const char* name : {"kind", "units", "channels", "kernel", "stride", "padding", "momentum",
                             "synchronized", "probability", "back"})
      if (layers.editor(layer, name)->isVisibleTo(&inspector_)) names << name;
    return names.join(" ");
  };
  EXPECT_EQ(shows(0), "kind channels kernel stride padding");
  EXPECT_EQ(shows(1), "kind momentum synchronized");
  EXPECT_EQ(shows(2), "kind probability");
  EXPECT_TRUE(QTest::qWaitFor([&] { return shows(3) == "kind units"; }))
      << "a new row comes with the next turn";
  EXPECT_EQ(shown(layers.editor(0, "stride")), "automatic");
  type(layers.editor(0, "channels"), "8");
  EXPECT_EQ(now().model.layers[0].channels, 8);
  document_.set_value("model.layers[0].kind", "max_pool");
  EXPECT_EQ(shows(0), "kind kernel stride padding");
}

TEST_F(InspectorTest, navigation_to_a_problem_of_kernel_size_sets_the_focus) {
  document_.edit("a convolution", [](experiment::Experiment& e) {
    e.model.layers.insert(e.model.layers.begin(), {.kind = model::LayerKind::conv2d, .kernel = 29});
  });
  wait_for_problems(1);
  EXPECT_TRUE(inspector_.layers().problem_text(0).contains("28 x 28"));
  inspector_.go_to("model.layers[0].kernel");
  EXPECT_TRUE(inspector_.layers().editor(0, "kernel")->focusProxy()->hasFocus());
}

TEST_F(InspectorTest, problem_of_a_layer_appears_below_it) {
  document_.set_value("model.layers[2].units", 7);
  wait_for_problems(1);
  EXPECT_NE(inspector_.layers().problem_text(2), "");
  EXPECT_EQ(inspector_.layers().problem_text(0), "");
}

TEST_F(InspectorTest, indivisible_softsync_has_a_note_below_its_field) {
  const auto shown_text = [&] {
    for (const QLabel* label : inspector_.form("strategy").findChildren<QLabel*>())
      if (label->text().contains("softsync 2") && label->isVisibleTo(&inspector_))
        return label->text().toStdString();
    return std::string();
  };
  document_.edit("three workers and a server", [](experiment::Experiment& e) {
    e.topology.hosts[0].devices.push_back({.name = "cpu2"});
    e.topology.hosts[0].devices.push_back(
        {.name = "cpu3", .role = topology::Role::parameter_server});
  });
  ASSERT_TRUE(document_.set_value("strategy.kind", "parameter_server").empty());
  ASSERT_TRUE(document_.set_value("strategy.servers.mode", "softsync").empty());
  EXPECT_EQ(shown_text(), "") << "softsync 1 divides all workers";
  ASSERT_TRUE(document_.set_value("strategy.servers.softsync", 2).empty());
  EXPECT_THAT(shown_text(),
              testing::AllOf(testing::HasSubstr("3 workers"), testing::HasSubstr("1 gradient,")));
  ASSERT_TRUE(document_.set_value("strategy.servers.softsync", 3).empty());
  EXPECT_EQ(shown_text(), "");
}

}  // namespace
}  // namespace trainyard::ui
