// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/document/document.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>
#include <algorithm>

#include "core/base/json.h"
#include "core/experiment/document.h"
#include "tests/problem_matchers.h"
#include "ui/model/document/autosave.h"
#include "ui/model/document/recent_files.h"
#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {
namespace {

void name_it(Document& document, const std::string& name, const QString& merge_key = {}) {
  document.edit(
      "Name", [&](experiment::Experiment& e) { e.name = name; }, merge_key);
}

experiment::Experiment named(const std::string& name) {
  experiment::Experiment experiment;
  experiment.name = name;
  return experiment;
}

class Files : public ::testing::Test {
 protected:
  QString path(const QString& name) const { return directory_.filePath(name); }
  QString recovery() const { return path("recovery"); }
  // Leaves a recovery copy as a crashed process does: its lock names a process that does not exist.
  void leave_copy(const std::string& file, const experiment::Experiment& content,
                  const QDateTime& saved = QDateTime::currentDateTimeUtc().addSecs(5)) {
    QDir().mkpath(recovery());
    const base::Json json{{"file", file},
                          {"saved", saved.toString(Qt::ISODateWithMs).toStdString()},
                          {"experiment", experiment::to_json(content)}};
    write(recovery() + "/left.json", QByteArray::fromStdString(json.dump()));
    write(recovery() + "/left.json.lock",
          "999999999\ntrainyard\n" + QSysInfo::machineHostName().toUtf8() + "\n");
  }
  static void write(const QString& file, const QByteArray& bytes) {
    QFile out(file);
    ASSERT_TRUE(out.open(QIODevice::WriteOnly));
    out.write(bytes);
  }

  QTemporaryDir directory_;
};

TEST(Document, edit_without_a_change_adds_no_undo_step) {
  Document document;
  document.edit("Nothing", [](experiment::Experiment&) {});
  EXPECT_EQ(document.undo_stack().count(), 0);
  EXPECT_FALSE(document.dirty());
}

TEST(Document, edits_with_the_same_key_are_one_undo_step) {
  Document document;
  for (const char* name : {"a", "ab", "abc"}) name_it(document, name, "typing");
  name_it(document, "d", "other");
  name_it(document, "e");
  name_it(document, "f");
  EXPECT_EQ(document.undo_stack().count(), 4);
  for (int i = 0; i < 3; ++i) document.undo_stack().undo();
  EXPECT_EQ(document.experiment().name, "abc");
  document.undo_stack().undo();
  EXPECT_EQ(document.experiment().name, "");
}

TEST(Document, edit_that_reverts_itself_leaves_no_undo_step) {
  Document document;
  name_it(document, "there", "drag");
  name_it(document, "", "drag");
  EXPECT_EQ(document.undo_stack().count(), 0);
  EXPECT_FALSE(document.dirty());
}

TEST(Document, value_is_set_by_its_path_unless_it_is_refused) {
  Document document;
  EXPECT_TRUE(document.set_value("training.batch_per_rank", 64).empty());
  EXPECT_EQ(document.experiment().training.batch_per_rank, 64);
  const base::Problems problems = document.set_value("training.batch_per_rank", "many");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].where, "training.batch_per_rank");
  EXPECT_FALSE(document.set_value("training.no_such", 1).empty());
  EXPECT_EQ(document.experiment().training.batch_per_rank, 64);
  EXPECT_EQ(document.undo_stack().count(), 1);
}

TEST(Document, problems_are_updated_after_an_edit) {
  Document document;
  QSignalSpy spy(&document, &Document::problems_changed);
  document.edit("Draw", [](experiment::Experiment& e) {
    add_device(e.topology, add_host(e.topology, {}), default_device(topology::DeviceKind::cpu));
  });
  document.edit(
      "Break", [](experiment::Experiment& e) { e.topology.links.emplace_back().from = "unknown"; });
  ASSERT_TRUE(QTest::qWaitFor([&] { return !document.problems().empty(); }));
  document.undo_stack().undo();
  EXPECT_TRUE(QTest::qWaitFor([&] { return document.problems().empty(); }))
      << base::to_string(document.problems());
}

experiment::Experiment with_a_gpu(const std::string& host) {
  experiment::Experiment experiment;
  experiment.topology.hosts = {{.name = host,
                                .address = {},
                                .devices = {{.name = "gpu0", .kind = topology::DeviceKind::gpu}}}};
  experiment.strategy.kind = experiment::StrategyKind::one_device;
  return experiment;
}

TEST(Document, displayed_location_of_a_problem_follows_a_renamed_host) {
  Document document;
  QSignalSpy spy(&document, &Document::problems_changed);
  const auto where = [&] {
    return document.display_problems().empty()
               ? ""
               : document.display_problems().front().displayed.where;
  };
  document.reset(with_a_gpu("left"));
  document.set_value("run.emulate", false);
  ASSERT_TRUE(QTest::qWaitFor([&] { return where() == "gpu0 on left: Kind"; }))
      << base::to_string(document.problems());
  const base::Problems before = document.problems();
  spy.clear();
  document.edit("rename", [](experiment::Experiment& e) { e.topology.hosts[0].name = "right"; });
  EXPECT_EQ(where(), "gpu0 on left: Kind") << "the text is computed once";
  ASSERT_TRUE(QTest::qWaitFor([&] { return where() == "gpu0 on right: Kind"; })) << where();
  EXPECT_EQ(document.problems(), before) << "only the displayed text changed";
  EXPECT_EQ(spy.size(), 1) << "views are notified";
}

TEST(Document, opening_a_document_discards_refused_texts) {
  Document document;
  const base::Problem typed{"test_problem",
                            base::ProblemCode::bad_input,
                            "training.batch_per_rank",
                            "not a whole number",
                            "",
                            ""};
  document.set_refused(typed);
  ASSERT_EQ(document.problems(), base::Problems{typed});
  EXPECT_EQ(document.display_problems().front().displayed.where, "Training: Batch per rank");
  document.reset({});
  EXPECT_FALSE(document.refused());
  EXPECT_EQ(std::ranges::count(document.problems(), typed), 0);
}

TEST(Documents, change_of_kind_drops_its_settings_and_undo_restores_them) {
  Document document;
  document.set_value("model.layers[0].units", 99);
  const experiment::Experiment before = document.experiment();
  QStringList dropped;
  QObject::connect(&document, &Document::fields_dropped,
                   [&](const QStringList& paths) { dropped = paths; });
  EXPECT_TRUE(document.set_value("model.layers[0].kind", "relu").empty());
  EXPECT_EQ(dropped, QStringList{"model.layers[0].units"});
  EXPECT_EQ(document.experiment().model.layers[0].units, 0);
  document.undo_stack().undo();
  EXPECT_EQ(document.experiment(), before);
}

TEST(Documents, edit_without_dropped_settings_emits_no_notice) {
  Document document;
  int announced = 0;
  QObject::connect(&document, &Document::fields_dropped, [&] { ++announced; });
  document.set_value("model.layers[0].units", 99);
  document.set_value("model.layers[1].kind", "gelu");
  EXPECT_EQ(announced, 0);
}

TEST_F(Files, unnamed_experiment_has_the_name_of_its_file) {
  Document document;
  EXPECT_EQ(document.name(), "");
  ASSERT_TRUE(document.save(path("two.layers.json")));
  EXPECT_EQ(document.name(), "two.layers");
  name_it(document, "one");
  EXPECT_EQ(document.name(), "one");
}

TEST_F(Files, saving_sets_clean_and_undo_past_it_sets_dirty) {
  Document document;
  name_it(document, "one");
  ASSERT_TRUE(document.save(path("a.json")));
  EXPECT_FALSE(document.dirty());
  EXPECT_EQ(document.title(), "a.json");
  document.undo_stack().undo();
  EXPECT_TRUE(document.dirty());
  document.undo_stack().redo();
  EXPECT_FALSE(document.dirty());
  Document other;
  ASSERT_TRUE(other.load(path("a.json")));
  EXPECT_EQ(other.experiment(), document.experiment());
}

TEST_F(Files, failed_save_or_load_keeps_the_document) {
  Document document;
  name_it(document, "kept");
  EXPECT_FALSE(document.save(path("no/such/directory/a.json")));
  EXPECT_TRUE(document.dirty());
  write(path("broken.json"), "{\"version\": 1,");
  EXPECT_FALSE(document.load(path("broken.json")));
  EXPECT_EQ(document.experiment().name, "kept");
  EXPECT_TRUE(document.file().isEmpty());
}

TEST_F(Files, resolved_experiments_of_runs_open_as_new_documents) {
  Document written;
  name_it(written, "once");
  const QByteArray json =
      QByteArray::fromStdString(experiment::to_json(written.experiment()).dump());
  write(path("resolved.json"), R"({"document": )" + json + R"(, "data": {}})");
  Document document;
  ASSERT_TRUE(document.load(path("resolved.json")));
  EXPECT_EQ(document.experiment().name, "once");
  EXPECT_TRUE(document.file().isEmpty()) << "saving asks for a name";
}

// Documents that are always refused, and a model that the drawn devices cannot run.
TEST_F(Files, refused_files_report_all_problems) {
  write(path("wrong.json"),
        R"({"version": 1, "training": {"epochs": -1}, "strategy": {"kind": "pipeline"}, )"
        R"("model": {"layers": [{"kind": "linear", "units": 0}]},)"
        R"("topology": {"hosts": [{"name": "host", "devices": [{"name": "a"}, {"name": "b"}]}]}})");
  Document document;
  const auto loaded = document.load(path("wrong.json"));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error(),
              testing::IsSupersetOf(
                  {base::IsProblem("out_of_range", testing::EndsWith("training.epochs")),
                   base::IsProblem("too_few_layers", testing::EndsWith("topology.hosts"))}));
}

TEST_F(Files, unsaved_changes_are_kept_until_saved_or_closed) {
  Document document;
  QString copy;
  {
    Autosave autosave(document, recovery(), 1);
    copy = autosave.copy();
    EXPECT_FALSE(QFile::exists(copy));
    name_it(document, "precious");
    ASSERT_TRUE(QTest::qWaitFor([&] { return QFile::exists(copy); }));
    EXPECT_TRUE(find_recoveries(recovery()).empty()) << "its process is alive";
    ASSERT_TRUE(document.save(path("a.json")));
    EXPECT_FALSE(QFile::exists(copy));
    name_it(document, "more");
    autosave.write_now();
    EXPECT_TRUE(QFile::exists(copy));
  }
  EXPECT_FALSE(QFile::exists(copy)) << "closed normally";
}

TEST_F(Files, changes_of_a_dead_process_are_offered_and_recovered_once) {
  leave_copy("", named("lost"));
  auto found = find_recoveries(recovery());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].experiment.name, "lost");
  EXPECT_TRUE(find_recoveries(recovery()).empty()) << "another window must not offer it too";
  Document document;
  Autosave autosave(document, recovery(), 1);
  autosave.recover(found[0]);
  found.clear();
  EXPECT_EQ(document.experiment().name, "lost");
  EXPECT_TRUE(document.dirty());
  EXPECT_FALSE(QFile::exists(recovery() + "/left.json"));
  EXPECT_TRUE(QFile::exists(autosave.copy()));
}

TEST_F(Files, recovery_copy_without_lost_changes_is_not_offered) {
  Document document;
  name_it(document, "saved");
  ASSERT_TRUE(document.save(path("a.json")));
  leave_copy(path("a.json").toStdString(), named("saved"));
  EXPECT_TRUE(find_recoveries(recovery()).empty()) << "identical to the file";
  EXPECT_FALSE(QFile::exists(recovery() + "/left.json"));
  leave_copy(path("a.json").toStdString(), named("older"),
             QDateTime::currentDateTimeUtc().addDays(-1));
  EXPECT_TRUE(find_recoveries(recovery()).empty()) << "older than the file";
  leave_copy(path("a.json").toStdString(), named("newer"));
  EXPECT_EQ(find_recoveries(recovery()).size(), 1u);
}

TEST_F(Files, unreadable_recovery_copy_is_kept) {
  QDir().mkpath(recovery());
  write(recovery() + "/bad.json", "{");
  EXPECT_TRUE(find_recoveries(recovery()).empty());
  EXPECT_TRUE(QFile::exists(recovery() + "/bad.json"));
}

TEST_F(Files, recent_files_are_at_most_ten_and_shared_by_windows) {
  RecentFiles recent(path("settings.ini"));
  for (int i = 0; i < 12; ++i) recent.add(path(QString("%1.json").arg(i)));
  recent.add(path("5.json"));
  RecentFiles other(path("settings.ini"));
  ASSERT_EQ(other.files().size(), 10);
  EXPECT_EQ(other.files()[0], path("5.json"));
  EXPECT_EQ(other.files()[1], path("11.json"));
  other.remove(path("5.json"));
  EXPECT_EQ(other.files().count(path("5.json")), 0);
  other.clear();
  EXPECT_TRUE(other.files().isEmpty());
}

}  // namespace
}  // namespace trainyard::ui
