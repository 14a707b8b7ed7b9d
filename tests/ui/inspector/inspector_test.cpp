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

TEST_F(InspectorTest, a_fraction_steps_by_one_two_five) {
  FieldEditor* rate = inspector_.form("training").editor("optimizer.learning_rate");
  rate->setFocus();
  QTest::keyClick(rate->focusProxy(), Qt::Key_Up);
  EXPECT_DOUBLE_EQ(now().training.optimizer.learning_rate, 0.2);
  QTest::keyClick(rate->focusProxy(), Qt::Key_Down);
  QTest::keyClick(rate->focusProxy(), Qt::Key_Down);
  EXPECT_DOUBLE_EQ(now().training.optimizer.learning_rate, 0.05);
}

TEST_F(InspectorTest, a_choice_is_taken_by_keyboard) {
  auto* kind = inner<QComboBox>(inspector_.form("strategy").editor("kind"));
  kind->setFocus();
  QTest::keyClick(kind, Qt::Key_Up);
  EXPECT_EQ(now().strategy.kind, experiment::StrategyKind::one_device);
  document_.undo_stack().undo();
  EXPECT_EQ(kind->currentData().toString(), "mirrored");
}

TEST_F(InspectorTest, a_switch_is_toggled) {
  auto* emulate = inner<QCheckBox>(inspector_.form("run").editor("emulate"));
  QTest::keyClick(emulate, Qt::Key_Space);
  EXPECT_FALSE(now().run.emulate);
  document_.undo_stack().undo();
  EXPECT_TRUE(emulate->isChecked());
}

TEST_F(InspectorTest, what_is_measured_of_the_thing_that_is_selected_stands_above_its_fields) {
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

TEST_F(InspectorTest, a_text_is_typed_and_undone) {
  type(inspector_.form("").editor("name"), "mine");
  EXPECT_EQ(now().name, "mine");
  document_.undo_stack().undo();
  EXPECT_EQ(now().name, "sample");
}

TEST_F(InspectorTest, fields_that_do_not_matter_are_hidden) {
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

TEST_F(InspectorTest, a_problem_of_meaning_appears_at_its_field_and_goes) {
  FieldForm& strategy = inspector_.form("strategy");
  document_.set_value("strategy.kind", "one_device");
  wait_for_problems(1);
  EXPECT_TRUE(strategy.problem_text("kind").contains("2 devices have the role worker"))
      << strategy.problem_text("kind").toStdString();
  EXPECT_TRUE(strategy.editor("kind")->focusProxy()->accessibleDescription().contains("2 devices"));
  document_.undo_stack().undo();
  wait_for_problems(0);
  EXPECT_EQ(strategy.problem_text("kind"), "");
}

TEST_F(InspectorTest, a_field_is_reset_to_its_default) {
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

// The reset buttons that are shown, by the labels of their fields.
QStringList resets_of(const FieldForm& form) {
  QStringList labels;
  for (const QToolButton* button : form.findChildren<QToolButton*>())
    if (button->toolTip().startsWith("Reset") && !button->isHidden())
      labels << button->accessibleName().section(':', 0, 0);
  return labels;
}

TEST_F(InspectorTest, what_must_be_given_and_where_a_thing_was_put_have_no_default_to_go_back_to) {
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
  EXPECT_EQ(resets({{"host0"}, {}}), QStringList("Address"));
  EXPECT_EQ(resets({{}, {{"cpu0", "cpu1"}}}), QStringList("Latency"));
  EXPECT_EQ(resets_of(inspector_.form("")), QStringList("Name")) << "an experiment need have none";
}

TEST_F(InspectorTest, the_global_batch_stands_beside_the_batch) {
  document_.set_value("training.batch_per_rank", 50);
  bool found = false;
  for (const QLabel* label : inspector_.form("training").findChildren<QLabel*>())
    found |= label->text().contains("100 samples") && label->isVisibleTo(&inspector_);
  EXPECT_TRUE(found);
}

TEST_F(InspectorTest, a_selected_device_shows_its_fields_and_is_renamed_with_its_links) {
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

TEST_F(InspectorTest, things_of_several_kinds_have_nothing_to_edit_together) {
  selection_.set({{"cpu0", "host0"}, {}});
  EXPECT_FALSE(inspector_.item_form().isVisibleTo(&inspector_));
}

TEST_F(InspectorTest, a_problem_of_a_device_appears_at_its_field) {
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

TEST_F(InspectorTest, going_to_a_nested_field_gives_it_the_focus) {
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
  EXPECT_EQ(now().model.layers[2].kind, model::LayerKind::linear) << "the moved one went";
  while (document_.undo_stack().canUndo()) document_.undo_stack().undo();
  EXPECT_EQ(layers.count(), 3);
}

TEST_F(InspectorTest, layers_are_added_before_the_output_layer_which_wide_may_follow) {
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
      << "as wide as there are classes";
}

TEST_F(InspectorTest, the_units_of_a_layer_are_typed_and_hidden_where_unused) {
  LayerList& layers = inspector_.layers();
  type(layers.editor(0, "units"), "64");
  EXPECT_EQ(now().model.layers[0].units, 64);
  EXPECT_FALSE(layers.editor(1, "units")->isVisibleTo(&inspector_)) << "a relu has none";
}

TEST_F(InspectorTest, a_layer_shows_the_fields_of_its_kind) {
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

TEST_F(InspectorTest, going_to_a_problem_of_a_window_gives_its_field_the_focus) {
  document_.edit("a convolution", [](experiment::Experiment& e) {
    e.model.layers.insert(e.model.layers.begin(), {.kind = model::LayerKind::conv2d, .kernel = 29});
  });
  wait_for_problems(1);
  EXPECT_TRUE(inspector_.layers().problem_text(0).contains("exceeds the input image of 28 x 28"));
  inspector_.go_to("model.layers[0].kernel");
  EXPECT_TRUE(inspector_.layers().editor(0, "kernel")->focusProxy()->hasFocus());
}

TEST_F(InspectorTest, a_problem_of_a_layer_appears_below_it) {
  document_.set_value("model.layers[2].units", 7);
  wait_for_problems(1);
  EXPECT_NE(inspector_.layers().problem_text(2), "");
  EXPECT_EQ(inspector_.layers().problem_text(0), "");
}

TEST_F(InspectorTest, a_softsync_that_does_not_divide_the_workers_is_said_below_its_field) {
  const auto said = [&] {
    for (const QLabel* label : inspector_.form("strategy").findChildren<QLabel*>())
      if (label->text().contains("cannot be divided evenly") && label->isVisibleTo(&inspector_))
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
  EXPECT_EQ(said(), "") << "1";
  ASSERT_TRUE(document_.set_value("strategy.servers.softsync", 2).empty());
  EXPECT_EQ(said(),
            "3 workers cannot be divided evenly by softsync 2: an update takes 1 gradient, as "
            "asynchronous does");
  ASSERT_TRUE(document_.set_value("strategy.servers.softsync", 3).empty());
  EXPECT_EQ(said(), "");
}

}  // namespace
}  // namespace trainyard::ui
