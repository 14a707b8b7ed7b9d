// SPDX-License-Identifier: GPL-3.0-or-later
// Labels of links, idle and during transfers.
#include "ui/canvas/link_label.h"

#include <gmock/gmock.h>

#include "core/experiment/document.h"
#include "tests/ui/canvas/canvas_fixture.h"
#include "tests/ui/has_all.h"
#include "ui/canvas/canvas_text.h"
#include "ui/canvas/traffic_text.h"

namespace trainyard::ui {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class LinkLabels : public Canvas {
 protected:
  LinkLabels() {
    document_.reset(*experiment::load(TRAINYARD_SOURCE_DIR
                                      "/resources/experiments/four_hosts_ring_digits.json"));
  }
  void flow(double bytes_per_second) {
    Overlay overlay;
    for (const topology::Link& link : drawn().links)
      overlay.links[{link.from, link.to}] = {bytes_per_second / 4, bytes_per_second * 3 / 4};
    view_.set_overlay(overlay);
  }
  std::vector<LinkLabel> seen() {
    std::vector<LinkLabel> labels;
    for (QGraphicsItem* item : view_.topology_scene().items())
      if (const auto* label = dynamic_cast<LinkLabelItem*>(item); label && label->isVisible())
        labels.push_back(label->label());
    return labels;
  }
  bool covers_a_card(const LinkLabel& label) {
    return std::ranges::any_of(view_.topology_scene().layout().nodes, [&](const NodeBox& node) {
      return node.rect.intersects(label.rect);
    });
  }
};

TEST_F(LinkLabels, show_bytes_per_second_of_both_directions) {
  EXPECT_THAT(seen(), SizeIs(4));
  for (const QSize room :
       {QSize(560, 400),
        QSize(880, 600)}) {  // the canvas in a window of 1280 x 800, and of 1600 x 1000
    view_.resize(room);
    act("zoom_fit");
    EXPECT_FALSE(is_far(view_.transform().m11()));
    for (const double rate : {203e6, 7.0, 1.23e9, 999.6e3}) {
      flow(rate);
      ASSERT_THAT(seen(), SizeIs(4)) << rate;
      for (const LinkLabel& label : seen()) {
        EXPECT_THAT(label.lines, ElementsAre(ui::rate(rate), QString("both directions")));
        EXPECT_TRUE(label.measured);
        EXPECT_FALSE(covers_a_card(label)) << rate;
      }
    }
  }
}

TEST_F(LinkLabels, are_painted) {
  flow(203e6);
  act("zoom_actual");
  const QRectF where = seen().at(0).rect.adjusted(4, 3, -4, -18);
  const QImage image = view_.viewport()->grab(view_.mapFromScene(where).boundingRect()).toImage();
  int ink = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) ink += image.pixelColor(x, y).lightness() < 128 ? 1 : 0;
  EXPECT_GT(ink, 40);
}

TEST_F(LinkLabels, include_the_drawn_speed_on_long_and_hovered_links) {
  LinkAppearance look{
      .link = drawn().links[0], .live = LinkOverlay{203e6, 0}, .speeds = "imposed", .marks = {}};
  const LinkShape& shape = view_.topology_scene().layout().links[0];
  EXPECT_THAT(link_label(shape, look).lines, SizeIs(2));
  look.marks.hovered = true;
  const QStringList whole{"203 MB/s, both directions", "1 Gbit/s, 50 µs", "imposed"};
  EXPECT_EQ(link_label(shape, look).lines, whole);
  look.marks.hovered = false;
  document_.edit("apart", [](experiment::Experiment& e) { e.topology.hosts[0].x -= 160; });
  EXPECT_EQ(link_label(view_.topology_scene().layout().links[0], look).lines, whole);
}

TEST_F(LinkLabels, name_payload_kinds_and_their_rates_when_hovered) {
  const LinkShape& shape = view_.topology_scene().layout().links[0];
  LinkOverlay live{
      3e6,
      1.5e6,
      {{PayloadKind::activations, 3e6, 0}, {PayloadKind::activation_gradients, 0, 1e6}}};
  LinkAppearance look{.link = drawn().links[0], .live = live, .speeds = {}, .marks = {}};
  look.marks.selected = true;
  const QString to = QString::fromStdString(look.link.to),
                from = QString::fromStdString(look.link.from);
  EXPECT_THAT(link_label(shape, look).lines,
              ElementsAre("4.5 MB/s, both directions", "activations 3 MB/s to " + to,
                          "gradients of activations 1 MB/s to " + from, "500 kB/s unclassified",
                          "1 Gbit/s, 50 µs"));
  look.marks.selected = false;
  document_.edit("apart", [](experiment::Experiment& e) { e.topology.hosts[0].x -= 400; });
  EXPECT_THAT(link_label(view_.topology_scene().layout().links[0], look).lines,
              ElementsAre("4.5 MB/s, both directions", "activations, gradients of activations",
                          "1 Gbit/s, 50 µs"));
}

TEST_F(LinkLabels, selected_link_or_bus_lists_payload_kinds_and_total) {
  Overlay overlay;
  const LinkName name{"a", "b"};
  overlay.links[name] = {2e6, 0, {{PayloadKind::gathered_parameters, 2e6, 0}}};
  overlay.buses["host0"] = {3e6, 0, {{PayloadKind::scattered_gradients, 3e6, 0}}};
  overlay.buses["host1"] = {3e6, 0};
  EXPECT_THAT(lines_of_picked(overlay, {{}, {name}}),
              ElementsAre(test::HasAll("link", "2 MB/s"),
                          test::HasAll("all-gathered parameters", "2 MB/s to b")));
  EXPECT_THAT(lines_of_picked(overlay, {{"host0"}, {}}),
              ElementsAre(test::HasAll("host bus", "3 MB/s"),
                          test::HasAll("reduce-scattered gradients", "3 MB/s")));
  EXPECT_TRUE(lines_of_picked(overlay, {{"host1"}, {}}).empty()) << "payload kinds are unknown";
  EXPECT_TRUE(lines_of_picked(overlay, {{"host0"}, {name}}).empty());
  EXPECT_TRUE(lines_of_picked(overlay, {{"cpu0"}, {}}).empty());
}

TEST_F(LinkLabels, are_hidden_on_links_shorter_than_the_text) {
  document_.edit("near", [](experiment::Experiment& e) {
    e.topology.hosts[0].x = 72, e.topology.hosts[0].y = 8;
  });
  flow(203e6);
  EXPECT_THAT(seen(), SizeIs(3));
}

TEST_F(LinkLabels, state_cut_and_slowed_links) {
  const topology::Link& link = drawn().links.front();
  const auto say = [&](double part) {
    Overlay overlay;
    overlay.link_fractions[{link.from, link.to}] = part;
    view_.set_overlay(overlay);
    return seen();
  };
  const QImage whole = view_.grab().toImage();
  const auto first_lines = [](const std::vector<LinkLabel>& labels) {
    QStringList lines;
    for (const LinkLabel& label : labels) lines << label.lines.value(0);
    return lines;
  };
  EXPECT_THAT(first_lines(say(0)), testing::Contains(QString("CUT")).Times(1));
  EXPECT_NE(view_.grab().toImage(), whole);
  EXPECT_THAT(first_lines(say(0.1)), testing::Contains(QString("SLOWED to 10 %")).Times(1));
  view_.clear_overlay();
  EXPECT_THAT(first_lines(seen()), testing::Not(testing::Contains(QString("CUT"))));
}

}  // namespace
}  // namespace trainyard::ui
