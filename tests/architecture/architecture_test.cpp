// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/architecture/cycles.h"
#include "tests/architecture/directions.h"

namespace trainyard::architecture {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const fs::path kSources = TRAINYARD_SOURCE_DIR;

// Matches a finding at this place that names this folder, file or library.
auto Finding(const std::string& place, const std::string& name) {
  return testing::AllOf(HasSubstr(place), HasSubstr(name));
}

// A small tree of sources to break rules in.
class BrokenTree : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root_); }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  fs::path root_ =
      fs::temp_directory_path() / ("trainyard-architecture-" + std::to_string(::getpid()));
};

TEST(Architecture, has_includes_within_the_table_of_directions) {
  EXPECT_THAT(check_includes(kSources), IsEmpty());
}
TEST(Architecture, has_namespaces_of_the_folder_or_its_parents) {
  EXPECT_THAT(check_namespaces(kSources), IsEmpty());
}
TEST(Architecture, has_a_license_tag_in_every_source_and_script) {
  EXPECT_THAT(check_tags(kSources), IsEmpty());
}
TEST(Architecture, has_build_files_within_the_table) {
  EXPECT_THAT(check_build_files(kSources), IsEmpty());
}

TEST(Architecture, has_every_folder_of_core_and_backends_in_the_table) {
  for (const char* top : {"core", "backends"})
    for (const auto& entry : fs::directory_iterator(kSources / top)) {
      if (!entry.is_directory()) continue;
      EXPECT_TRUE(directions().contains(std::string(top) + "/" + entry.path().filename().string()))
          << entry.path();
    }
}

TEST(Architecture, has_no_include_cycle_but_the_known_ones) {
  EXPECT_THAT(check_unit_cycles(kSources, known_unit_cycles()), IsEmpty());
  EXPECT_THAT(check_folder_cycles(kSources, known_folder_cycles()), IsEmpty());
}

TEST(Architecture, has_no_two_folders_that_include_each_other) {
  for (const auto& [from, knows] : directions())
    for (const std::string& to : knows)
      EXPECT_FALSE(may_include(to, from)) << from << " and " << to;
}

TEST_F(BrokenTree, reports_an_upward_include_with_its_line) {
  write("core/run/interpreter.h", "");
  write("core/plan/op.h", "#pragma once\n#include \"core/run/interpreter.h\"\n");
  EXPECT_THAT(check_includes(root_), ElementsAre(Finding("core/plan/op.h:2:", "core/run")));
}

TEST_F(BrokenTree, allows_an_include_through_another_folder) {
  write("core/topology/host.h", "");
  write("core/strategy/mirrored.cpp", "#include \"core/topology/host.h\"\n#include <vector>\n");
  EXPECT_THAT(check_includes(root_), IsEmpty());
}

TEST_F(BrokenTree, reports_a_backend_that_includes_more_than_its_interface) {
  write("core/run/interpreter.h", "");
  write("backends/shm/arena.h", "");
  write("backends/inproc/transport.cpp",
        "#include \"core/run/interpreter.h\"\n# include \"backends/shm/arena.h\"\n");
  EXPECT_THAT(check_includes(root_),
              ElementsAre(Finding("transport.cpp:1:", "core/run"), HasSubstr("transport.cpp:2:")));
}

TEST_F(BrokenTree, reports_a_ui_that_includes_backends_or_app) {
  write("backends/zmq/client.h", "");
  write("app/wiring.h", "");
  write("ui/run/panel.cpp", "#include \"backends/zmq/client.h\"\n#include \"app/wiring.h\"\n");
  EXPECT_THAT(check_includes(root_),
              ElementsAre(Finding("ui/run", "backends/zmq"), Finding("ui/run", "app")));
}

TEST_F(BrokenTree, reports_relative_and_missing_includes) {
  write("core/plan/op.h", "#include \"lane.h\"\n#include \"core/plan/lost.h\"\n");
  EXPECT_THAT(check_includes(root_), ElementsAre(Finding("op.h:1:", "\"lane.h\""),
                                                 Finding("op.h:2:", "\"core/plan/lost.h\"")));
}

TEST_F(BrokenTree, reports_libraries_outside_their_folders) {
  write("core/plan/op.cpp",
        "#include <QString>\n#include <zmq.hpp>\n#include <cuda_runtime.h>\n#include "
        "<oneapi/dnnl/dnnl.hpp>\n");
  write("ui/canvas/scene.cpp",
        "#include <QGraphicsScene>\n#include <QtCharts/QChart>\n#include <QLineSeries>\n#include "
        "<zmq.h>\n");
  write("ui/charts/plot.cpp", "#include <QChartView>\n#include <QValueAxis>\n");
  write("ui/model/document.h", "#include <QAbstractItemModel>\n#include <QTableWidget>\n");
  write("backends/zmq/socket.cpp", "#include <zmq.hpp>\n");
  EXPECT_THAT(check_includes(root_),
              ElementsAre(Finding("op.cpp:1:", "Qt "), HasSubstr("ZeroMQ"), HasSubstr("CUDA"),
                          HasSubstr("oneDNN"), Finding("scene.cpp:2:", "Qt Charts"),
                          HasSubstr("scene.cpp:3:"), HasSubstr("ZeroMQ"),
                          Finding("document.h:2:", "ui/model")));
}

TEST_F(BrokenTree, reports_a_foreign_namespace_and_a_missing_tag) {
  write("core/plan/op.h", "namespace trainyard::run {\n}\n");
  write("packaging/go", "#!/bin/sh\ntrue\n");
  EXPECT_THAT(check_namespaces(root_), ElementsAre(HasSubstr("core/plan/op.h:1:")));
  EXPECT_THAT(check_tags(root_), ElementsAre(HasSubstr("core/plan/op.h:1: no SPDX"),
                                             HasSubstr("packaging/go:1: no SPDX")));
}

TEST_F(BrokenTree, allows_a_parent_namespace_in_a_subfolder) {
  write("core/session/rank/rank.h", "namespace trainyard::session {\n}\n");
  write("core/session/rank/link.h", "namespace trainyard::session::rank {\n}\n");
  write("core/session/sweep/sweep.h", "namespace trainyard::weep {\n}\n");
  EXPECT_THAT(check_namespaces(root_), ElementsAre(HasSubstr("core/session/sweep/sweep.h:1:")));
}

TEST_F(BrokenTree, applies_the_table_of_a_folder_to_its_subfolders) {
  write("core/session/rank/rank.h", "");
  write("core/session/sweep/sweep.h", "#include \"core/session/rank/rank.h\"\n");
  write("core/run/bind/bind.cpp", "#include \"core/session/rank/rank.h\"\n");
  EXPECT_THAT(check_includes(root_), ElementsAre(Finding("bind.cpp:1:", "core/session")));
}

TEST_F(BrokenTree, reports_an_include_cycle_of_headers_and_sources) {
  write("core/plan/op.h", "");
  write("core/plan/op.cpp", "#include \"core/plan/op.h\"\n#include \"core/plan/lane.h\"\n");
  write("core/plan/lane.h", "#include \"core/plan/text.h\"\n");
  write("core/plan/text.h", "#include \"core/plan/op.h\"\n");
  EXPECT_THAT(check_unit_cycles(root_, {}),
              ElementsAre("include cycle: core/plan/lane -> core/plan/text -> core/plan/op -> "
                          "core/plan/lane"));
}

TEST_F(BrokenTree, treats_a_source_without_a_header_as_a_unit) {
  write("core/plan/op.h", "#include \"core/plan/lane.h\"\n");
  write("core/plan/op_text.cpp", "#include \"core/plan/op.h\"\n");
  write("core/plan/lane.h", "");
  EXPECT_THAT(check_unit_cycles(root_, {}), IsEmpty());
}

TEST_F(BrokenTree, tolerates_a_known_include_cycle_that_only_shrinks) {
  write("core/plan/op.h", "#include \"core/plan/lane.h\"\n");
  write("core/plan/lane.h", "#include \"core/plan/op.h\"\n");
  write("core/plan/text.h", "");
  EXPECT_THAT(check_unit_cycles(root_, {{"core/plan/op", "core/plan/lane"}}), IsEmpty());
  EXPECT_THAT(check_unit_cycles(root_, {{"core/plan/op", "core/plan/lane", "core/plan/text"}}),
              ElementsAre(StartsWith("core/plan/text ")));
  write("core/plan/lane.h", "#include \"core/plan/text.h\"\n");
  write("core/plan/text.h", "#include \"core/plan/op.h\"\n");
  EXPECT_THAT(check_unit_cycles(root_, {{"core/plan/op", "core/plan/lane"}}),
              ElementsAre(StartsWith("include cycle: "), StartsWith("core/plan/lane "),
                          StartsWith("core/plan/op ")));
}

TEST_F(BrokenTree, reports_an_include_cycle_between_subfolders) {
  write("core/run/bind/bind.h", "");
  write("core/run/bind/layout.h", "#include \"core/run/input/rows.h\"\n");
  write("core/run/input/rows.h", "#include \"core/run/bind/bind.h\"\n");
  EXPECT_THAT(check_unit_cycles(root_, {}), IsEmpty());
  EXPECT_THAT(check_folder_cycles(root_, {}),
              ElementsAre("include cycle: core/run/bind -> core/run/input -> core/run/bind"));
  EXPECT_THAT(check_folder_cycles(root_, {{"core/run/bind", "core/run/input"}}), IsEmpty());
}

TEST_F(BrokenTree, reports_a_build_file_that_allows_too_much) {
  write("core/CMakeLists.txt",
        "trainyard_folder(core/base LINKS zlib)\ntrainyard_folder(core/plan KNOWS core/base "
        "core/run LINKS core/sim)\ntrainyard_folder(core/misc)\n");
  EXPECT_THAT(check_build_files(root_),
              ElementsAre(Finding("core/CMakeLists.txt:2:", "core/run"),
                          Finding("core/CMakeLists.txt:3:", "core/misc")));
}

}  // namespace
}  // namespace trainyard::architecture
