// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <tuple>

#include "core/base/json.h"
#include "core/telemetry/export_csv.h"
#include "core/telemetry/export_trace.h"
#include "tests/core/telemetry/support.h"

namespace trainyard::telemetry {
namespace {

TEST(ExportCsv, writes_one_line_per_logged_value_and_figures_over_all_ranks) {
  History history;
  take_json(history, FrameType::header, -1, small_header(2));
  take_events(history, 0,
              {metric(Metric::loss_sum, 0, 0.1, 0), metric(Metric::samples, 0, 2, 0.25)});
  take_events(history, 1,
              {metric(Metric::loss_sum, 0, 0.3, 0), metric(Metric::samples, 0, 2, 0.5),
               metric(Metric::sent_payload_bytes, 0, 1e15, 0.5, 7)});
  std::ostringstream out;
  ASSERT_TRUE(export_csv(history, out));
  EXPECT_EQ(out.str(),
            "metric,rank,index,step,seconds,value,text\n"
            "loss_sum,0,0,0,0,0.1,\n"
            "loss_sum,1,0,0,0,0.3,\n"
            "samples,0,0,0,0.25,2,\n"
            "samples,1,0,0,0.5,2,\n"
            "sent_payload_bytes,1,7,0,0.5,1e+15,\n"
            "trained_samples,-1,0,0,0.5,4,\n"
            "train_loss,-1,0,0,0.5,0.1,\n");
}

// Row by row, by the quotes of RFC 4180.
std::vector<std::vector<std::string>> rows_of(const std::string& table) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const char c = table[i];
    if (quoted && c == '"' && i + 1 < table.size() && table[i + 1] == '"')
      rows.back().back() += table[++i];
    else if (c == '"') quoted = !quoted;
    else if (!quoted && c == ',') rows.back().emplace_back();
    else if (!quoted && c == '\n') rows.push_back({""});
    else rows.back().back() += c;
  }
  rows.pop_back();
  return rows;
}

TEST(ExportCsv, contains_faults_of_ranks_and_links_exactly) {
  History history;
  take_json(history, FrameType::header, -1, small_header(3));
  const auto state = [&](std::int64_t time_ns, std::int64_t step, const base::Json& fault) {
    take_json(history, FrameType::state, -1,
              {{"state", "running"}, {"time_ns", time_ns}, {"step", step}, {"fault", fault}});
  };
  state(1'000'000'000, 0, {{"kind", "stalled"}, {"rank", 0}, {"text", "stands still"}});
  state(1'333'333'333, 4'000'000'000,
        {{"kind", "lost"},
         {"rank", 2},
         {"text", "ended by \"signal 9\" (Killed);\ntraining goes on with 1 worker, 2"}});
  state(9'000'000'001, 12, {{"kind", "link_cut"}, {"link", 7}, {"text", "alpha - beta"}});
  std::ostringstream out;
  ASSERT_TRUE(export_csv(history, out));
  const auto rows = rows_of(out.str());
  ASSERT_EQ(rows.size(), 1 + history.faults().size());
  for (std::size_t i = 0; i < history.faults().size(); ++i) {
    const auto& row = rows[i + 1];
    ASSERT_EQ(row.size(), rows[0].size()) << i;
    EXPECT_TRUE(row[0].starts_with("fault_"));
    const bool of_link = row[1] == "-1";
    const Fault read{row[0].substr(6),  row[6],
                     std::stoi(row[1]), std::stoll(row[3]),
                     std::stod(row[4]), of_link ? std::stoi(row[2]) : -1};
    const Fault& was = history.faults()[i];
    EXPECT_EQ(std::tie(read.kind, read.text, read.rank, read.step, read.seconds, read.link),
              std::tie(was.kind, was.text, was.rank, was.step, was.seconds, was.link));
    EXPECT_EQ(row[5], "1");
  }
}

TEST(ExportCsv, a_full_disk_is_a_problem) {
  std::ofstream full("/dev/full");
  EXPECT_FALSE(export_csv(History(), full));
}

const std::vector<OpNames> kNames = {
    {{{"train", {{"F.s0", "compute"}, {"SEND.c1>\"r1\"", "send.g0"}}}}}};

base::Json exported(const std::filesystem::path& run_directory, const std::vector<OpNames>& names) {
  std::ostringstream out;
  const auto written = export_trace(run_directory, names, out);
  EXPECT_TRUE(written) << base::to_string(written.error());
  const auto json = base::parse_json(out.str(), "trace");
  EXPECT_TRUE(json) << base::to_string(json.error());
  return json->at("traceEvents");
}

void record(const std::filesystem::path& path, int rank, const std::vector<Event>& events) {
  auto writer = RecordingWriter::create(path, small_header());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->append_events(rank, events));
  ASSERT_TRUE(writer->close());
}

TEST(ExportTrace, has_an_op_as_a_slice_on_the_lane_of_its_rank) {
  const TemporaryDirectory directory;
  record(directory.recording(), 0,
         {op(0, 0, 3, 1'000'001, 1'000'001, 3'500'002, 64), metric(Metric::samples, 0, 1, 0)});
  const base::Json trace = exported(directory.path(), kNames);
  ASSERT_EQ(trace.size(), 3u);
  EXPECT_EQ(trace[0],
            base::Json::parse(
                R"({"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"rank 0"}})"));
  EXPECT_EQ(trace[1],
            base::Json::parse(
                R"({"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"name":"compute"}})"));
  EXPECT_EQ(trace[2],
            base::Json::parse(
                R"({"ph":"X","name":"F.s0","cat":"op","pid":0,"tid":0,"ts":1000.001,"dur":2500.001,
                                            "args":{"step":3,"bytes":64.0,"program":"train"}})"));
}

TEST(ExportTrace, has_waiting_for_a_peer_as_a_slice) {
  const TemporaryDirectory directory;
  record(directory.recording(), 0, {op(0, 1, 0, 1000, 5000, 6000, 8)});
  const base::Json trace = exported(directory.path(), kNames);
  ASSERT_EQ(trace.size(), 4u);
  EXPECT_EQ(trace[2]["name"], "wait");
  EXPECT_EQ(trace[2]["ts"], 1);
  EXPECT_EQ(trace[2]["dur"], 4);
  EXPECT_EQ(trace[3]["name"], "SEND.c1>\"r1\"");
  EXPECT_EQ(trace[3]["ts"], 5);
  EXPECT_EQ(trace[3]["dur"], 1);
}

TEST(ExportTrace, has_the_delay_of_an_op_as_a_slice) {
  const TemporaryDirectory directory;
  Event slowed = op(0, 0, 0, 1000, 1000, 6000, 0);
  slowed.imposed_seconds = 4e-6F;
  Event hostile = op(0, 0, 1, 7000, 7000, 8000, 0);
  hostile.imposed_seconds = 1e30F;
  record(directory.recording(), 0, {slowed, hostile});
  const base::Json trace = exported(directory.path(), kNames);
  ASSERT_EQ(trace.size(), 6u);
  EXPECT_EQ(trace[2]["name"], "F.s0");
  EXPECT_EQ(trace[2]["dur"], 1);
  EXPECT_EQ(trace[3]["name"], "held back");
  EXPECT_EQ(trace[3]["ts"], 2);
  EXPECT_EQ(trace[3]["dur"], 4);
  EXPECT_EQ(trace[4]["dur"], 0) << "never before the start";
  EXPECT_EQ(trace[5]["dur"], 1);
}

TEST(ExportTrace, names_each_lane_and_rank_once) {
  const TemporaryDirectory directory;
  record(directory.recording(), 0,
         {op(0, 0, 0, 0, 0, 1), op(0, 1, 0, 1, 1, 2), op(0, 0, 1, 2, 2, 3), op(0, 1, 1, 3, 3, 4)});
  int names = 0;
  for (const auto& entry : exported(directory.path(), kNames)) names += entry["ph"] == "M" ? 1 : 0;
  EXPECT_EQ(names, 3);
}

TEST(ExportTrace, shows_ops_without_a_name_by_number) {
  const TemporaryDirectory directory;
  record(directory.recording(), 5, {op(2, 11, 0, 0, 0, 1, std::nan(""))});
  const base::Json trace = exported(directory.path(), kNames);
  EXPECT_EQ(trace[1]["args"]["name"], "unnamed");
  EXPECT_EQ(trace[2]["name"], "op 2.11");
  EXPECT_EQ(trace[2]["pid"], 5);
}

TEST(ExportTrace, of_a_run_without_ops_is_empty) {
  const TemporaryDirectory directory;
  record(directory.recording(), 0, {});
  EXPECT_TRUE(exported(directory.path(), {}).empty());
}

TEST(ExportTrace, is_valid_json_after_damage) {
  const TemporaryDirectory directory;
  const Event event = op(0, 0, 0, 0, 0, 1);
  const std::string_view payload(reinterpret_cast<const char*>(&event), sizeof event);
  write_bytes(directory.recording(), frame_bytes(1, -1, R"({"schema":1})") +
                                         frame_bytes(3, 0, payload) + "this is no frame at all");
  std::ostringstream out;
  const auto written = export_trace(directory.path(), kNames, out);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().id, "no_frame");
  const auto json = base::parse_json(out.str(), "trace");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("traceEvents").size(), 3u);
}

TEST(ExportTrace, a_full_disk_is_a_problem) {
  const TemporaryDirectory directory;
  record(directory.recording(), 0, {op(0, 0, 0, 0, 0, 1)});
  std::ofstream full("/dev/full");
  EXPECT_FALSE(export_trace(directory.path(), kNames, full));
}

}  // namespace
}  // namespace trainyard::telemetry
