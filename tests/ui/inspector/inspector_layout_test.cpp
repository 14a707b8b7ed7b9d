// SPDX-License-Identifier: GPL-3.0-or-later
// The inspector in a small window with large text: nothing is truncated or overlaps, and long
// content scrolls.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QStyleOptionComboBox>
#include <QTest>

#include "tests/drawings.h"
#include "ui/inspector/inspector.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

class InspectorLayout : public testing::TestWithParam<double> {
 protected:
  InspectorLayout() {
    Theme::instance().apply(Theme::Kind::light, GetParam());
    experiment::Experiment experiment;
    experiment.topology.hosts.push_back(tests::drawn_host("a host with a rather long name", 2));
    experiment.topology.hosts.push_back(tests::drawn_host("other", 2, 2));
    experiment.topology.links.push_back({"a host with a rather long name", "other"});
    document_.reset(experiment);
  }
  ~InspectorLayout() override { Theme::instance().apply(Theme::Kind::light); }

  // The minimum width, and the height above the charts in a window of 900 x 600.
  void show(const QString& cost = "4 ranks") {
    inspector_.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&inspector_));
    ASSERT_TRUE(QTest::qWaitFor([&] {
      return inspector_.cost().cost_text().startsWith(cost) &&
             inspector_.cost().verdict_text() != "Simulating ...";
    }));
    inspector_.resize(inspector_.minimumSizeHint().width(), 280);
    settle();
  }
  // Heights follow widths by events. Waits until the layout is stable.
  void settle() {
    QList<QRect> before, now;
    const auto still = [&] {
      before = std::exchange(now, {});
      for (const QWidget* one : inspector_.findChildren<QWidget*>()) now << one->geometry();
      return now == before;
    };
    ASSERT_TRUE(QTest::qWaitFor(still));
  }

  static void expect_whole(const QLabel& label) {
    const QSize needed =
        label.wordWrap() ? QSize(0, label.heightForWidth(label.width())) : label.sizeHint();
    EXPECT_GE(label.width(), needed.width()) << label.text().toStdString();
    EXPECT_GE(label.height(), needed.height()) << label.text().toStdString();
    EXPECT_TRUE(label.parentWidget()->rect().contains(label.geometry()))
        << label.text().toStdString();
  }
  static void expect_apart(const QWidget& parent) {
    QList<QWidget*> shown;
    for (QWidget* child : parent.findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
      if (child->isVisible() && !child->isWindow()) shown << child;
    for (int i = 0; i < shown.size(); ++i)
      for (int j = 0; j < i; ++j)
        EXPECT_FALSE(shown[i]->geometry().intersects(shown[j]->geometry()))
            << shown[i]->objectName().toStdString() << " and "
            << shown[j]->objectName().toStdString();
  }
  void expect_good() {
    int labels = 0;
    for (const QLabel* label : inspector_.findChildren<QLabel*>())
      if (label->isVisible() && !label->text().isEmpty()) expect_whole(*label), ++labels;
    EXPECT_GT(labels, 5);
    for (const QWidget* parent : inspector_.findChildren<FieldForm*>()) expect_apart(*parent);
    for (const QScrollArea* area : inspector_.findChildren<QScrollArea*>()) {
      if (!area->isVisible()) continue;
      EXPECT_LE(area->widget()->width(), area->viewport()->width()) << "no horizontal scrolling";
      EXPECT_EQ(area->verticalScrollBar()->maximum() > 0,
                area->widget()->height() > area->viewport()->height())
          << "long texts scroll";
      EXPECT_GE(area->viewport()->height(), area->fontMetrics().height())
          << "at least one line is visible";
    }
    EXPECT_LE(inspector_.minimumSizeHint().width(), 600)
        << "the canvas needs the rest of 900 pixels";
  }

  Document document_;
  Selection selection_;
  Inspector inspector_{document_, selection_};
};

INSTANTIATE_TEST_SUITE_P(Scale, InspectorLayout, testing::Values(1.0, 2.0),
                         [](const auto& scale) { return scale.param > 1 ? "large" : "usual"; });

TEST_P(InspectorLayout, experiment_is_not_truncated) {
  show();
  expect_good();
}

TEST_P(InspectorLayout, problems_are_not_truncated) {
  document_.set_value("strategy.kind", "one_device");
  document_.set_value("model.layers[2].units", 7);
  show("Not ready");
  ASSERT_TRUE(QTest::qWaitFor([&] { return document_.problems().size() > 1; }));
  settle();
  expect_good();
}

TEST_P(InspectorLayout, layers_of_images_and_their_problems_are_not_truncated) {
  document_.edit("image layers", [](experiment::Experiment& e) {
    e.model.layers.insert(e.model.layers.begin(), {{.kind = model::LayerKind::conv2d, .kernel = 29},
                                                   {.kind = model::LayerKind::batch_norm},
                                                   {.kind = model::LayerKind::average_pool},
                                                   {.kind = model::LayerKind::dropout},
                                                   {.kind = model::LayerKind::add}});
  });
  show("Not ready");
  ASSERT_TRUE(QTest::qWaitFor([&] { return !document_.problems().empty(); }));
  settle();
  expect_good();
}

TEST_P(InspectorLayout, names_of_layer_kinds_without_units_are_not_truncated) {
  const model::LayerKind kinds[] = {model::LayerKind::embedding_bag, model::LayerKind::average_pool,
                                    model::LayerKind::batch_norm};
  document_.edit("long names", [&](experiment::Experiment& e) {
    for (const model::LayerKind kind : kinds)
      e.model.layers.insert(e.model.layers.begin(), {.kind = kind});
  });
  show("Not ready");
  for (int layer = 0; layer < static_cast<int>(std::size(kinds)); ++layer) {
    const auto* box = inspector_.layers().editor(layer, "kind")->findChild<QComboBox*>();
    ASSERT_NE(box, nullptr);
    QStyleOptionComboBox option;
    option.initFrom(box);
    const int room =
        box->style()
            ->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, box)
            .width();
    EXPECT_GE(room, box->fontMetrics().horizontalAdvance(box->currentText()))
        << box->currentText().toStdString();
  }
}

TEST_P(InspectorLayout, device_host_and_link_are_not_truncated) {
  show();
  for (const SelectedObjects& picked :
       {SelectedObjects{{"cpu1"}, {}}, SelectedObjects{{"a host with a rather long name"}, {}},
        SelectedObjects{{}, {{"a host with a rather long name", "other"}}}}) {
    selection_.set(picked);
    settle();
    for (const QLabel* label : inspector_.findChildren<QLabel*>())
      if (label->isVisible() && !label->text().isEmpty()) expect_whole(*label);
    expect_apart(inspector_.item_form());
  }
}

}  // namespace
}  // namespace trainyard::ui
