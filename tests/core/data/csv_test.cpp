// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>

#include "tests/core/data/files.h"
#include "tests/problem_matchers.h"

namespace trainyard::data {
namespace {

using base::Accepts;
using base::Advises;
using base::IsProblem;
using base::ProblemCode;
using base::Reports;
using testing::AllOf;
using testing::ElementsAre;

class Csv : public testing::Test {
 protected:
  Csv() {
    spec_.kind = DataKind::csv;
    spec_.file = "table.csv";
    spec_.train_samples = 0, spec_.held_out_samples = 0;
  }
  base::Result<std::shared_ptr<const Dataset>> open_text(const std::string& text) {
    folder_.write("table.csv", text);
    return open(spec_, folder_.path());
  }
  // The problem of opening this text as a file, or one without an id when there is none.
  base::Problem problem(const std::string& text) {
    const auto opened = open_text(text);
    return opened ? base::Problem{} : opened.error();
  }
  std::string path() const { return (folder_.path() / "table.csv").string(); }
  // Matches a problem of the file at this line.
  auto problem_at(int line) const {
    return IsProblem("bad_data_file", path() + ", line " + std::to_string(line));
  }
  // Labels in the order of the (distinct, rising) first feature.
  std::vector<std::int32_t> labels(const std::string& text) {
    const auto set = open_text(text);
    if (!set) return {};
    const auto samples = read_all(**set, Split::train);
    const auto width = static_cast<std::size_t>((*set)->summary().features());
    std::vector<std::pair<float, std::int32_t>> pairs;
    for (std::size_t i = 0; i < samples.labels.size(); ++i)
      pairs.emplace_back(samples.features[i * width], samples.labels[i]);
    std::sort(pairs.begin(), pairs.end());
    std::vector<std::int32_t> sorted;
    for (const auto& pair : pairs) sorted.push_back(pair.second);
    return sorted;
  }

  Folder folder_;
  DataSpec spec_;
};

TEST_F(Csv, uses_the_last_column_as_the_label_by_default) {
  const auto set = open_text("x,y,kind\n1,2,a\n3,4,b\n");
  ASSERT_TRUE(set) << base::to_string(set.error());
  EXPECT_THAT((*set)->summary().sample_shape, ElementsAre(2));
  EXPECT_EQ((*set)->summary().classes, 2);
  spec_.label_column = "kind";
  EXPECT_THAT(labels("kind,x\nb,1\na,2\n"), ElementsAre(1, 0));
}

TEST_F(Csv, maps_text_labels_to_classes_in_alphabetical_order) {
  EXPECT_THAT(labels("x,kind\n1,pear\n2,apple\n3,fig\n4,apple\n"), ElementsAre(2, 0, 1, 0));
}

TEST_F(Csv, maps_integer_labels_to_classes_in_numerical_order) {
  EXPECT_THAT(labels("x,kind\n1,10\n2,9\n3,-1\n4,10\n"), ElementsAre(2, 1, 0, 2));
}

TEST_F(Csv, reads_quotes_blank_lines_line_ends_spaces_and_a_byte_order_mark) {
  EXPECT_THAT(labels("\xEF\xBB\xBF\"x\", kind \r\n\"1\",\"a, \"\"b\"\"\nc\"\r\n\r\n 2 , z\n+3,\"a, "
                     "\"\"b\"\"\nc\""),
              ElementsAre(0, 1, 0));
}

TEST_F(Csv, reads_compressed_files) {
  EXPECT_THAT(labels(gzip("x,kind\n1,b\n2,a\n")), ElementsAre(1, 0));
}

TEST_F(Csv, standardizes_features_with_statistics_of_the_training_split) {
  spec_.held_out_samples = 20;
  std::string text = "x,constant,kind\n";
  for (int i = 0; i < 100; ++i)
    text += std::to_string(1000 + i * i) + ",5," + std::to_string(i % 2) + "\n";
  const auto set = open_text(text).value();
  const auto samples = read_all(*set, Split::train);
  std::vector<float> x;
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    x.push_back(samples.features[2 * i]);
    EXPECT_EQ(samples.features[2 * i + 1], 0) << "a constant column";
  }
  EXPECT_NEAR(mean_and_deviation(x).first, 0, 1e-5);
  EXPECT_NEAR(mean_and_deviation(x).second, 1, 1e-5);
  EXPECT_EQ(set->summary().held_out_samples, 20);
}

TEST_F(Csv, inspect_agrees_with_open) {
  spec_.held_out_samples = 1;
  const auto set = open_text("x,kind\n1,a\n2,b\n3,c\n").value();
  const auto summary = inspect(spec_, folder_.path()).value();
  EXPECT_EQ(summary.train_samples, 2);
  EXPECT_EQ(summary.classes, set->summary().classes);
}

TEST_F(Csv, reports_line_and_column_of_an_invalid_number) {
  EXPECT_THAT(problem("x,y,kind\n1,2,a\n\n3,4oz,b\n"),
              AllOf(problem_at(4), Reports("\"y\""), Reports("\"4oz\"")));
  for (const char* bad : {"", "nan", "inf", "1e39", "1e999", "0x10", "+-5", "1 2", "--1"})
    EXPECT_THAT(problem(std::string("x,kind\n") + bad + ",a\n2,b\n"),
                AllOf(problem_at(2), Reports("\"x\""), Reports(bad)))
        << bad;
}

TEST_F(Csv, counts_lines_after_a_quoted_line_break) {
  EXPECT_THAT(problem("x,kind\n1,\"a\nb\"\nbad,c\n"), AllOf(problem_at(4), Reports("\"bad\"")));
}

TEST_F(Csv, shows_unprintable_bytes_in_hexadecimal) {
  EXPECT_THAT(problem(std::string("x,kind\n\xff\0,a\n2,b\n", 15)),
              AllOf(problem_at(2), Reports("\"\\xff\\x00\"")));
}

TEST_F(Csv, refuses_lines_with_another_number_of_fields) {
  EXPECT_THAT(problem("x,y,kind\n1,2,a\n3,b\n"),
              AllOf(problem_at(3), Reports("2 fields"), Accepts("3")));
  EXPECT_THAT(problem("x,kind\n1,a,\n"), AllOf(problem_at(2), Reports("3 fields"), Accepts("2")));
}

TEST_F(Csv, refuses_too_many_columns) {
  EXPECT_THAT(problem(std::string(3'000'000, ',')),
              AllOf(problem_at(1), Reports("1,048,576 fields")));
}

TEST_F(Csv, refuses_broken_quotes) {
  EXPECT_THAT(problem("x,kind\n1,\"a\n2,b\n"), AllOf(problem_at(2), Accepts("a closing \"")));
  EXPECT_THAT(problem("x,kind\n1,\"a\"b\n"), AllOf(problem_at(2), Accepts("a comma")));
}

TEST_F(Csv, refuses_empty_files_and_single_classes) {
  EXPECT_THAT(problem(""), AllOf(IsProblem("bad_data_file", path()), Reports("empty")));
  EXPECT_THAT(problem("\n\r\n"), AllOf(IsProblem("bad_data_file", path()), Reports("empty")));
  EXPECT_THAT(problem("x,kind\n"),
              AllOf(IsProblem("bad_data_file", path()), Reports("no samples")));
  EXPECT_THAT(problem("kind\na\nb\n"), AllOf(problem_at(1), Reports("one column")));
  EXPECT_THAT(problem("x,kind\n1,a\n2,a\n"),
              AllOf(IsProblem("bad_data_file", path()), Reports("\"a\""), Accepts("classes")));
  EXPECT_THAT(problem("x,kind\n1,a\n2,\n"), AllOf(problem_at(3), Reports("label")));
}

TEST_F(Csv, requires_exactly_one_label_column) {
  spec_.label_column = "sort";
  EXPECT_THAT(problem("x,kind\n1,a\n"),
              AllOf(problem_at(1), Reports("\"sort\""), Accepts("\"x\", \"kind\"")));
  EXPECT_THAT(problem("sort,sort,x\na,a,1\n"),
              AllOf(problem_at(1), Reports("two"), Reports("\"sort\"")));
}

TEST_F(Csv, refuses_a_column_of_measurements_as_the_label) {
  std::string text = "kind,x\n";
  for (int i = 0; i < 200; ++i) text += "1," + std::to_string(i) + ".5\n";
  spec_.label_column = "x";
  EXPECT_THAT(problem(text), AllOf(problem_at(102), Reports("\"x\""),
                                   Reports("100 distinct labels"), Advises("data.label_column")));
}

TEST_F(Csv, missing_file_is_reported_with_another_data_set_as_advice) {
  spec_.file = "nowhere.csv";
  const auto found = open(spec_, folder_.path()).error();
  EXPECT_EQ(found.code, ProblemCode::unavailable);
  EXPECT_THAT(found, AllOf(IsProblem("missing_file", (folder_.path() / "nowhere.csv").string()),
                           Advises("blobs")));
  spec_.file = "";
  EXPECT_THAT(open(spec_, folder_.path()).error(), IsProblem("file_not_set", "data.file"));
}

}  // namespace
}  // namespace trainyard::data
