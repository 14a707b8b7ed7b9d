// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/topology/topology.h"

#include <gmock/gmock.h>

#include "core/base/fields.h"
#include "tests/core/topology/named_parts.h"

namespace trainyard::topology {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> places(const base::Problems& problems) {
  std::vector<std::string> wheres;
  for (const auto& problem : problems) wheres.push_back(problem.where);
  return wheres;
}

TEST(topology, has_no_problems_if_valid) {
  const Topology drawing{{host("a", {"a0", "a1"}), host("b", {"b0"})},
                         {{.name = "s"}},
                         {link("a", "s"), link("b", "s"), link("a0", "a1")}};
  EXPECT_THAT(validate(drawing, "topology"), IsEmpty());
}

TEST(topology, has_no_problems_if_empty) { EXPECT_THAT(validate({}, "topology"), IsEmpty()); }

TEST(topology, reports_all_problems) {
  const Topology drawing{{host("a", {"a0", "a0"}), host("", {"b0"})},
                         {{.name = "a"}},
                         {link("a", "nowhere"), link("a", "a"), link("a0", "b0"), link("a0", "a")}};
  EXPECT_THAT(places(validate(drawing, "topology")),
              ElementsAre("topology.hosts[0].devices[1].name", "topology.hosts[1].name",
                          "topology.switches[0].name", "topology.links[0].to", "topology.links[1]",
                          "topology.links[2]", "topology.links[3]"));
}

TEST(topology, reports_the_owner_of_a_duplicate_name) {
  const auto problems = validate({{host("a", {"x"}), host("b", {"x"})}, {}, {}}, "topology");
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].id, "duplicate_name");
}

TEST(topology, checks_both_ends_of_a_link) {
  EXPECT_THAT(places(validate({{host("a", {})}, {}, {link("p", "q")}}, "t")),
              ElementsAre("t.links[0].from", "t.links[0].to"));
}

TEST(topology, links_a_device_only_within_its_host) {
  const Topology drawing{
      {host("a", {"a0"}), host("b", {"b0"})}, {{.name = "s"}}, {link("a0", "s"), link("b", "a0")}};
  EXPECT_THAT(places(validate(drawing, "t")), ElementsAre("t.links[0]", "t.links[1]"));
}

TEST(topology, reads_back_as_written) {
  Topology drawing{{host("a", {"a0", "a1"})}, {{.name = "s", .x = 3, .y = -2}}, {link("a", "s")}};
  drawing.hosts[0].devices[1].kind = DeviceKind::tpu;
  drawing.hosts[0].devices[1].role = Role::idle;
  Topology read;
  base::Problems problems;
  base::read_document(base::write_document(drawing), read, "topology", problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(read, drawing);
}

}  // namespace
}  // namespace trainyard::topology
