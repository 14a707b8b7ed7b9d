// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>

#include <map>

#include "core/base/hash.h"
#include "core/data/csv_table.h"
#include "core/data/stored_set.h"
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
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

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
  base::Result<CsvTable> read_text(const std::string& text) {
    folder_.write("table.csv", text);
    return read_csv(spec_.csv, spec_.label_column, folder_.path() / "table.csv");
  }
  // Values of the columns of numbers by name, or nothing if the file is refused.
  std::map<std::string, std::vector<double>> values(const std::string& text) {
    std::map<std::string, std::vector<double>> columns;
    if (const auto table = read_text(text))
      for (const CsvColumn& column : table->features)
        if (!column.category) columns[column.name] = column.values;
    return columns;
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

TEST_F(Csv, names_lines_before_the_header) {
  EXPECT_THAT(problem("# made today\nx,kind\n1,a\n2,b\n"), Advises("comment lines"));
}

// Values around an offset of 1.7e12, such as milliseconds since 1970, have steps of 131,072 in
// fp32. Around 10^15, the spread is 2e-14 of the mean.
TEST_F(Csv, standardizes_in_double_precision) {
  for (const auto& [offset, step] :
       {std::pair(1'700'000'000'000L, 1000), {1'000'000'000'000'000L, 1}}) {
    std::string stamps = "t,kind\n", offsets = "t,kind\n";
    for (int i = 0; i < 60; ++i) {
      const std::string kind = i < 30 ? ",early\n" : ",late\n";
      stamps += std::to_string(offset + i * step) + kind;
      offsets += std::to_string(i * step) + kind;
    }
    const auto of_stamps = read_all(*open_text(stamps).value(), Split::train).features;
    const auto of_offsets = read_all(*open_text(offsets).value(), Split::train).features;
    ASSERT_EQ(of_stamps.size(), of_offsets.size());
    for (std::size_t i = 0; i < of_stamps.size(); ++i)
      EXPECT_NEAR(of_stamps[i], of_offsets[i], 1e-6) << offset << " + " << i;
  }
}

TEST_F(Csv, reads_underflow_as_0) {
  const auto set = open_text("x,kind\n1e-400,a\n0." + std::string(400, '0') + "1,b\n-1,a\n");
  ASSERT_TRUE(set) << base::to_string(set.error());
  const auto features = read_all(**set, Split::train).features;
  EXPECT_EQ(std::ranges::count(features, *std::ranges::max_element(features)), 2);
}

TEST_F(Csv, detects_semicolons_tabs_and_decimal_commas) {
  const auto expect = [&](const std::string& text, const std::string& dialect) {
    const auto set = open_text(text);
    ASSERT_TRUE(set) << base::to_string(set.error());
    EXPECT_EQ((*set)->summary().features(), 2) << text;
    EXPECT_THAT((*set)->notes(), Contains(HasSubstr(dialect))) << text;
  };
  expect("x;y;kind\n0,5;1;a\n1,5;2;b\n", "semicolon-delimited, decimal comma, header line");
  expect("0,5;1;a\n1,5;2;b\n2,5;2;b\n3,5;2;a\n",
         "semicolon-delimited, decimal comma, no header line");
  expect("x;y;kind\n0.5;1;a\n1.5;2;b\n", "semicolon-delimited, decimal point, header line");
  expect("x\ty\tkind\n0.5\t1\ta\n1.5\t2\tb\n", "tab-delimited, decimal point, header line");
  expect("x,y,kind\n0.5,1,a;b\n1.5,2,b;a\n", "comma-delimited, decimal point, header line");
  EXPECT_EQ(labels("x;kind\n-0,5;b\n0,25;a\n"), (std::vector<std::int32_t>{1, 0}));
}

TEST_F(Csv, detects_quoted_decimal_commas_between_commas) {
  const std::string text =
      "\"x\",\"y\",\"k\"\n\"0,5\",\"0,25\",\"a\"\n\"1,5\",\"1,25\",\"b\"\n\"4\",\"2,125\",\"a\"\n";
  const auto detected = open_text(text);
  ASSERT_TRUE(detected) << base::to_string(detected.error());
  EXPECT_EQ((*detected)->summary().features(), 2);
  EXPECT_THAT((*detected)->notes(),
              Contains("table.csv: 3 samples read, 0 dropped because of missing values; 2 "
                       "classes: a (2), b (1) in column \"k\"; comma-delimited, decimal comma, "
                       "header line"));
  EXPECT_EQ(values(text), (std::map<std::string, std::vector<double>>{{"x", {0.5, 1.5, 4}},
                                                                      {"y", {0.25, 1.25, 2.125}}}));
  EXPECT_EQ(values("\"0,5\",1\n\"1,5\",2\n\"2,5\",1\n\"3,5\",2\n"),
            (std::map<std::string, std::vector<double>>{{"column 1", {0.5, 1.5, 2.5, 3.5}}}));
}

TEST_F(Csv, quoted_commas_of_other_files_are_no_decimal_commas) {
  for (const char* text : {
           "x,kind\n\"1,234\",a\n\"-12,500\",b\n900,a\n",  // thousands separators
           "x,kind\n\"1,5\",a\n\"2,5,3\",b\n\"3,5\",a\n",  // lists
           "x,kind\n\"1,5\",a\nsmall,b\n\"3,5\",a\n",      // a column of texts
           "x,kind\n\"1,5\",a\n2.5,b\n\"3,5\",a\n",        // decimal points in the column
           "y,x,kind\n0.5,\"1,5\",a\n1.5,\"2,5\",b\n",     // decimal points elsewhere
       }) {
    const CsvDialect dialect = detect_dialect(text, true, spec_.csv, "");
    EXPECT_EQ(dialect.text(), "comma-delimited, decimal point, header line") << text;
  }
}

TEST_F(Csv, dialect_can_be_set) {
  spec_.csv.delimiter = CsvDelimiter::semicolon;
  EXPECT_TRUE(open_text("x,1;kind\n1;a\n2;b\n"));
  spec_.csv.delimiter = CsvDelimiter::comma;
  EXPECT_THAT(problem("x;kind\n1;a\n2;b\n"), AllOf(problem_at(1), Reports("one column")));
  spec_.csv.decimal = CsvDecimal::comma;
  EXPECT_TRUE(open_text("x,kind\n\"1,5\",a\n2,b\n"));
  spec_.csv.decimal = CsvDecimal::point;
  EXPECT_THAT(problem("x,kind\n2,b\n\"1,5\",a\n"),
              AllOf(problem_at(3), Reports("1,5"), Advises("data.csv.decimal")));
}

TEST_F(Csv, first_line_of_values_is_a_sample) {
  const auto samples = [&](const std::string& text) {
    const auto set = open_text(text);
    return set ? (*set)->summary().train_samples : -1;
  };
  EXPECT_EQ(samples("6,148,0\n5,147,1\n4,146,0\n3,145,1\n"), 4);
  EXPECT_EQ(samples("20, 77516, >50K\n21, 77517, <=50K\n22, 3, >50K\n23, 4, <=50K\n"), 4);
  EXPECT_EQ(samples("red,1,a\nblue,2,b\nred,3,b\nblue,3,a\n"), 4) << "a column of texts";
  EXPECT_EQ(samples("2019,2020,class\n6,148,0\n5,147,1\n"), 2) << "the label names no class";
  EXPECT_EQ(samples("0,1,2\n5,147,2\n4,146,1\n"), 2) << "pandas numbers columns";
  EXPECT_EQ(samples("color,1,a\nblue,2,b\nred,3,a\n"), 2) << "a new text";
  spec_.csv.header = CsvHeader::absent;
  EXPECT_EQ(samples("0,1,2\n5,147,2\n4,146,1\n"), 3);
  spec_.csv.header = CsvHeader::present;
  EXPECT_EQ(samples("6,148,0\n5,147,1\n4,146,0\n"), 2);
}

TEST_F(Csv, first_line_of_numbers_with_a_fraction_is_a_sample) {
  const auto dialect = [&](const std::string& text) {
    const auto table = read_text(text);
    return table ? std::pair(table->read, table->dialect.header)
                 : std::pair(std::int64_t{-1}, true);
  };
  EXPECT_EQ(dialect("5.1,3.5,7\n0.5,0.25,0\n1.5,1.25,1\n2.5,2.25,0\n"), std::pair(4L, false))
      << "a label that no other line contains";
  EXPECT_EQ(dialect("0.5,0\n1.5,1\n2.5,2\n"), std::pair(3L, false)) << "distinct labels";
  EXPECT_EQ(dialect("5,1;7\n0,5;0\n1,5;1\n"), std::pair(3L, false)) << "a decimal comma";
  EXPECT_EQ(dialect("2019,2020,2021\n0.5,0.25,0\n1.5,1.25,1\n"), std::pair(2L, true)) << "years";
  EXPECT_EQ(dialect("0,1,2\n0.5,0.25,0\n1.5,1.25,2\n"), std::pair(2L, true)) << "column numbers";
  EXPECT_EQ(dialect("1,2,3\n0.5,0.25,0\n1.5,1.25,3\n"), std::pair(2L, true)) << "column numbers";
  EXPECT_EQ(dialect("0.5,1.5,kind\n0.5,0.25,0\n1.5,1.25,1\n"), std::pair(2L, true)) << "a text";
  spec_.csv.header = CsvHeader::present;
  EXPECT_EQ(dialect("5.1,3.5,7\n0.5,0.25,0\n1.5,1.25,1\n"), std::pair(2L, true));
}

// Shapes of files that are often used without a header: the zoo, cars and digits of the UCI
// repository.
TEST_F(Csv, first_line_of_values_that_name_no_columns_is_a_sample) {
  const auto read = [&](const std::string& text) {
    const auto table = read_text(text);
    return table ? std::pair(table->read, table->dialect.header)
                 : std::pair(std::int64_t{-1}, true);
  };
  EXPECT_EQ(read("bear,1,0,1,2\nwolf,0,1,0,1\ncarp,0,1,0,3\n"), std::pair(3L, false))
      << "the same number twice";
  EXPECT_EQ(read("5.1,3.5,rare\n4.9,3,usual\n4.7,3.2,usual\n"), std::pair(3L, false))
      << "a fraction and a text";
  EXPECT_EQ(read("0,0,16,5\n0,3,11,1\n1,2,12,2\n"), std::pair(3L, false)) << "pixels";
  EXPECT_EQ(read("name,2019,2020,kind\nx,1.5,2.5,a\ny,3.5,4.5,b\n"), std::pair(2L, true))
      << "years";
  EXPECT_EQ(read("id,1.5,1.5,kind\n1,1.5,2.5,a\n2,3.5,4.5,b\n"), std::pair(2L, true))
      << "a name above numbers";
}

TEST_F(Csv, first_line_may_state_the_delimiter) {
  const auto set = open_text("sep=;\nx;kind\n0,5;a\n1,5;b\n");
  ASSERT_TRUE(set) << base::to_string(set.error());
  EXPECT_EQ((*set)->summary().features(), 1);
  EXPECT_EQ(labels("sep=;\r\nx;kind\r\n0,5;a\r\n1,5;b\r\n"), (std::vector<std::int32_t>{0, 1}));
  EXPECT_THAT(problem("sep=;\nx;kind\n0,5;a\n1,5z;b\n"), problem_at(4)) << "lines keep numbers";
}

TEST_F(Csv, blanks_around_quotes_are_skipped) {
  const auto table =
      read_text("\"x\", \"y\" ,\t\"k\"\n0.5, \"0\", \"a, \"\"b\"\"\"\n1.5 ,  \"1\"  , \"c\nd\" \n");
  ASSERT_TRUE(table) << base::to_string(table.error());
  EXPECT_EQ(table->label_name, "k");
  EXPECT_THAT(table->classes, ElementsAre("a, \"b\"", "c\nd"));
  ASSERT_EQ(table->features.size(), 2U);
  EXPECT_EQ(table->features[1].name, "y");
  EXPECT_FALSE(table->features[1].category);
  EXPECT_THAT(table->features[1].values, ElementsAre(0, 1));
  const auto tabs = read_text("x\t \"k\"\n\t \"a\"\n2\t\"b\" \n");
  ASSERT_FALSE(tabs);
  EXPECT_THAT(tabs.error(), AllOf(problem_at(2), Reports("\"x\""))) << "an empty first field";
}

TEST_F(Csv, quotes_that_do_not_enclose_a_field_stay) {
  const auto table = read_text("x,k\n1,5\" disk\n2, \"a\" or \"b\"\n3, \"c\n");
  ASSERT_TRUE(table) << base::to_string(table.error());
  EXPECT_THAT(table->classes, ElementsAre("\"a\" or \"b\"", "\"c", "5\" disk"));
}

TEST_F(Csv, skips_lines_of_blanks_and_delimiters) {
  const std::map<std::string, std::vector<double>> x{{"x", {1, 2, 3}}, {"y", {4, 5, 6}}};
  EXPECT_EQ(values("\n\n  \n\t\nx,y,k\n1,4,a\n   \n2,5,b\n3,6,a\n  "), x);
  EXPECT_EQ(values(",,\r\nx,y,k\r\n1,4,a\r\n , ,\r\n2,5,b\r\n3,6,a\r\n,,\r\n,,\r\n"), x);
  EXPECT_EQ(values("x;y;k\n1;4;a\n2;5;b\n3;6;a\n;;\n;;"), x);
  EXPECT_EQ(values("x\ty\tk\n1\t4\ta\n\t\t\n2\t5\tb\n3\t6\ta\n"), x);
  spec_.csv.missing = CsvMissing::drop;
  const auto table = read_text("x,k\n1,a\n,b\n2,b\n,\n,\n");
  ASSERT_TRUE(table) << base::to_string(table.error());
  EXPECT_EQ(table->read, 3) << "lines of delimiters are not counted";
  EXPECT_EQ(table->dropped, 1);
  EXPECT_THAT(problem(" \n,,\n"), Reports("empty"));
  EXPECT_THAT(problem("x,k\n,\n \nbad,a\n1,b\n"), problem_at(4)) << "lines are counted";
}

TEST_F(Csv, columns_are_named_by_position_without_header) {
  const std::string text = "6,0,148\n5,1,147\n4,0,146\n3,1,145\n";
  spec_.label_column = "2";
  EXPECT_EQ(labels(text), (std::vector<std::int32_t>{1, 0, 1, 0}));
  spec_.label_column = "column 2";
  EXPECT_EQ(labels(text), (std::vector<std::int32_t>{1, 0, 1, 0}));
  spec_.label_column = "4";
  EXPECT_THAT(problem(text), AllOf(problem_at(1), Reports("\"4\""), Accepts("\"column 1\"")));
}

TEST_F(Csv, ignored_columns_are_not_read) {
  spec_.csv.ignored = {"id", "4"};
  const auto set = open_text("id,x,kind,comment\n,1,a,one\n7,2,b,\n");
  spec_.label_column = "kind";
  const auto labeled = open_text("id,x,kind,comment\n,1,a,one\n7,2,b,\n");
  ASSERT_TRUE(labeled) << base::to_string(labeled.error());
  EXPECT_EQ((*labeled)->summary().features(), 1);
  EXPECT_FALSE(set) << "column 4 is the label by default";
  EXPECT_EQ(set.error().where, "data.csv.ignored");
  spec_.csv.ignored = {"id", "x", "comment"};
  EXPECT_THAT(problem("id,x,kind,comment\n,1,a,one\n7,2,b,\n"), Advises("data.csv.ignored"));
  spec_.csv.ignored = {"size"};
  EXPECT_THAT(problem("id,x,kind\n1,1,a\n7,2,b\n"), Reports("\"size\""));
}

TEST_F(Csv, missing_values_are_refused_by_default) {
  for (const char* missing : {"", "NA", "nan", "N/A", "null", "None", "?", "<NA>"})
    EXPECT_THAT(problem(std::string("x,kind\n1,a\n") + missing + ",b\n"),
                AllOf(problem_at(3), Reports("\"x\""), Advises("data.csv.missing")))
        << missing;
}

TEST_F(Csv, samples_with_missing_values_can_be_dropped) {
  spec_.csv.missing = CsvMissing::drop;
  const auto set = open_text("x,y,kind\n1,1,a\n,2,b\n3,?,b\n4,4,NA\n5,5,b\n");
  ASSERT_TRUE(set) << base::to_string(set.error());
  EXPECT_EQ((*set)->summary().train_samples, 2);
  EXPECT_EQ((*set)->summary().classes, 2);
  EXPECT_THAT((*set)->notes(), Contains(HasSubstr("5 samples read, 3 dropped")));
  EXPECT_THAT(problem("x,kind\n,a\nNA,b\n"), Reports("every sample"));
}

TEST_F(Csv, missing_numbers_can_become_the_mean) {
  spec_.csv.missing = CsvMissing::mean;
  const auto set = open_text("x,kind\n1,a\n3,b\n,a\n");
  ASSERT_TRUE(set) << base::to_string(set.error());
  EXPECT_THAT((*set)->notes(), Contains(HasSubstr("1 missing value replaced by the mean 2")));
  auto features = read_all(**set, Split::train).features;
  std::ranges::sort(features);
  EXPECT_THAT(features, ElementsAre(testing::FloatEq(-1.2247449F), 0, testing::FloatEq(1.2247449F)))
      << "(1, 3, 2): mean 2, standard deviation 0.8165";
  EXPECT_THAT(problem("x,y,kind\n1,,a\n3,,b\n"), Reports("no value in any training sample"));
}

TEST_F(Csv, texts_are_categories) {
  const auto set = open_text("color,x,kind\nred,1,a\nblue,2,b\nred,3,b\ngreen,3,a\n");
  ASSERT_TRUE(set) << base::to_string(set.error());
  EXPECT_EQ((*set)->summary().features(), 4) << "blue, green, red, x";
  const auto samples = read_all(**set, Split::train);
  std::map<std::vector<float>, int> rows;
  for (std::size_t i = 0; i < samples.labels.size(); ++i)
    ++rows[{samples.features.begin() + static_cast<std::ptrdiff_t>(4 * i),
            samples.features.begin() + static_cast<std::ptrdiff_t>(4 * i + 3)}];
  EXPECT_EQ(rows,
            (std::map<std::vector<float>, int>{{{1, 0, 0}, 1}, {{0, 1, 0}, 1}, {{0, 0, 1}, 2}}));
  EXPECT_THAT((*set)->notes(), Contains(HasSubstr("\"color\" has 3 categories")));
}

TEST_F(Csv, category_of_numbers_with_thousands_separators_is_noted) {
  EXPECT_THAT(open_text("price,kind\n\"1,234\",a\n\"-12,500\",b\n\"1,234\",b\n\"-12,500\",a\n"
                        "\"1,234\",a\n")
                  .value()
                  ->notes(),
              Contains(HasSubstr("thousands separators")));
  EXPECT_THAT(
      open_text("size,kind\n\"1,2\",a\n\"12,50\",b\n\"1,2\",b\n\"12,50\",a\n").value()->notes(),
      testing::Not(Contains(HasSubstr("thousands separators"))));
}

TEST_F(Csv, category_of_held_out_samples_only_is_other) {
  spec_.held_out_samples = 10;
  std::string text = "id,kind\n";
  for (int i = 0; i < 30; ++i) text += "name" + std::to_string(i) + (i % 2 ? ",a\n" : ",b\n");
  const auto set = open_text(text);
  ASSERT_TRUE(set) << base::to_string(set.error());
  EXPECT_EQ((*set)->summary().features(), 20) << "one for each category of training samples";
  const auto held_out = read_all(**set, Split::held_out).features;
  EXPECT_EQ(std::ranges::count(held_out, 0), std::ssize(held_out));
  EXPECT_THAT((*set)->notes(), Contains(HasSubstr("10 samples")));
}

TEST_F(Csv, numbers_can_be_categories) {
  const std::string text = "code,kind\n10115,a\n80331,b\n10115,b\n";
  EXPECT_EQ(open_text(text).value()->summary().features(), 1);
  spec_.csv.categories = {"code"};
  EXPECT_EQ(open_text(text).value()->summary().features(), 2);
}

TEST_F(Csv, refuses_columns_with_numbers_and_texts) {
  EXPECT_THAT(problem("x,kind\n1,a\n2,b\nthree,b\n"),
              AllOf(problem_at(4), Reports("\"three\""), Advises("data.csv.categories")));
  EXPECT_THAT(problem("x,kind\none,a\n2,b\n"), AllOf(problem_at(2), Reports("\"one\"")));
}

TEST_F(Csv, notes_name_labels_that_look_missing_and_columns_without_name) {
  EXPECT_THAT(open_text("x,kind\n1,a\n2,NA\n3,b\n").value()->notes(),
              Contains(HasSubstr("1 of 3 samples have the label NA")));
  EXPECT_THAT(open_text(",x,kind\n0,1,a\n1,2,b\n").value()->notes(),
              Contains(HasSubstr("column without a name")));
  EXPECT_THAT(open_text("x,kind\n1,a\n2,b\n3,a\n4,b\n").value()->notes(), testing::SizeIs(1));
}

TEST_F(Csv, notes_name_doubtful_headers_and_columns_of_distinct_values) {
  EXPECT_THAT(open_text("user0,13,0\nuser1,1,0\nuser1,2,1\n").value()->notes(),
              Contains(HasSubstr("data.csv.header to absent")));
  EXPECT_THAT(open_text("x,price\n1,10\n2,20\n3,30\n").value()->notes(),
              Contains(HasSubstr("regression")));
  EXPECT_THAT(open_text("name,kind\nann,a\nbob,b\ncid,a\ndan,b\n").value()->notes(),
              Contains(HasSubstr("data.csv.ignored")));
}

TEST_F(Csv, converts_latin_1_and_refuses_utf_16_and_web_pages) {
  const auto latin = open_text(
      "gr\xf6\xdf"
      "e,kind\n1,M\xfcller\n2,b\n");
  ASSERT_TRUE(latin) << base::to_string(latin.error());
  EXPECT_THAT((*latin)->notes(), Contains(HasSubstr("Müller")));
  EXPECT_THAT((*latin)->notes(), Contains(HasSubstr("Latin-1")));
  const auto euro = open_text("x,kind\n1,\x80\n2,b\n");
  ASSERT_TRUE(euro) << base::to_string(euro.error());
  EXPECT_THAT((*euro)->notes(), Contains(HasSubstr("€"))) << "Windows-1252";
  EXPECT_THAT(problem(std::string("\xff\xfex\0,\0k\0\n\0", 10)),
              AllOf(IsProblem("not_utf8", path()), Reports("UTF-16"), Advises("iconv")));
  EXPECT_THAT(problem("\n<!DOCTYPE html>\n<html>404</html>"), Reports("web page"));
}

TEST_F(Csv, names_a_comma_at_the_end_of_the_header) {
  EXPECT_THAT(problem("x,kind,\n1,a,\n2,b,c\n3,b,\n"),
              AllOf(problem_at(2), Reports("ends with a comma")));
}

TEST_F(Csv, label_is_the_last_column_with_values_if_lines_end_with_a_delimiter) {
  for (const char* text : {"x,kind,\n1,a,\n2,b,\n3,a,\n", "1;5;a;\n2;6;b;\n3;7;a;\n"}) {
    const auto set = open_text(text);
    ASSERT_TRUE(set) << base::to_string(set.error());
    EXPECT_EQ((*set)->summary().classes, 2) << text;
    EXPECT_THAT((*set)->notes(), Contains(HasSubstr("lines end with a delimiter")));
  }
}

TEST_F(Csv, leaves_out_a_last_column_without_name_and_values) {
  spec_.label_column = "kind";
  const auto set = open_text("x,kind,\n1,a,\n2,b,\n");
  ASSERT_TRUE(set) << base::to_string(set.error());
  EXPECT_EQ((*set)->summary().features(), 1);
  EXPECT_THAT(problem("x,kind,\n1,a,\n2,b,3\n"), AllOf(problem_at(2), Reports("contains \"\"")));
  EXPECT_THAT(problem("kind,\na,\nb,\n"), Reports("no column has features"));
  const auto valued = open_text("x,kind,\n1,a,4\n2,b,3\n");
  ASSERT_TRUE(valued) << base::to_string(valued.error());
  EXPECT_EQ((*valued)->summary().features(), 2);
}

TEST_F(Csv, notes_name_constant_columns) {
  EXPECT_THAT(open_text("x,y,kind\n1,5,a\n2,5,b\n3,5,a\n4,5,b\n").value()->notes(),
              Contains(AllOf(HasSubstr("\"y\""), HasSubstr("same value"))));
}

TEST_F(Csv, advises_the_header_if_only_the_first_line_holds_texts) {
  spec_.csv.header = CsvHeader::absent;
  EXPECT_THAT(problem("x,kind\n1,a\n2,b\n"), AllOf(problem_at(1), Advises("data.csv.header")));
}

TEST_F(Csv, memory_of_a_table_is_limited) {
  std::string text = "x,kind\n";
  for (int i = 0; i < 100'000; ++i) text += i % 2 ? "0,a\n" : "0,b\n";
  folder_.write("table.csv", gzip(text));
  EXPECT_TRUE(read_csv(spec_.csv, "", folder_.path() / "table.csv", 2'000'000));
  const auto limited = read_csv(spec_.csv, "", folder_.path() / "table.csv", 1'000'000);
  ASSERT_FALSE(limited);
  EXPECT_THAT(limited.error(), AllOf(IsProblem("bad_data_file", testing::StartsWith(path())),
                                     Reports("1 MB"), Advises("data.csv.ignored")));
}

TEST_F(Csv, reads_records_that_cross_blocks) {
  std::string text = "x,kind\n";
  for (int i = 0; i < 300'000; ++i)
    text += std::to_string(i) + ",\"" + (i % 2 ? "a" : "b") + "\"\r\n";
  ASSERT_GT(text.size(), std::size_t{3} << 20);
  const auto set = open_text(text);
  ASSERT_TRUE(set) << base::to_string(set.error());
  EXPECT_EQ((*set)->summary().train_samples, 300'000);
  const auto sorted = labels(text);
  for (std::size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i % 2 ? 0 : 1) << i;
}

// Hashes of all features and labels, as computed by the version before dialects were detected.
TEST(CsvGolden, files_keep_their_columns_classes_and_values) {
  const struct {
    const char* file;
    std::int64_t features, classes;
    std::uint64_t hash;
  } golden[] = {{"measurements.csv", 4, 3, 0xdc0f00860abfcef4},
                {"numbered.csv", 3, 3, 0x9a1c3833b744d3a8},
                {"offsets.csv", 4, 2, 0x212ee1ccdd3bf142},
                {"quoted.csv", 3, 4, 0xab9a26edfafb6063}};
  for (const auto& [file, features, classes, hash] : golden) {
    DataSpec spec;
    spec.kind = DataKind::csv;
    spec.file = file;
    spec.train_samples = 0, spec.held_out_samples = 10;
    if (spec.file == "quoted.csv") spec.label_column = "label";
    const auto set = open(spec, std::filesystem::path(TRAINYARD_SOURCE_DIR) / "tests/golden/csv");
    ASSERT_TRUE(set) << base::to_string(set.error());
    EXPECT_EQ((*set)->summary().features(), features) << file;
    EXPECT_EQ((*set)->summary().classes, classes) << file;
    std::string bytes;
    for (const Split split : {Split::train, Split::held_out}) {
      const auto samples = read_all(**set, split);
      bytes.append(reinterpret_cast<const char*>(samples.features.data()),
                   samples.features.size() * sizeof(float));
      bytes.append(reinterpret_cast<const char*>(samples.labels.data()),
                   samples.labels.size() * sizeof(std::int32_t));
    }
    EXPECT_EQ(base::xxh64(std::string_view(bytes)), hash) << file;
  }
}

TEST_F(Csv, counts_lines_after_a_quoted_line_break) {
  EXPECT_THAT(problem("x,kind\n1,\"a\nb\"\nbad,c\n"), AllOf(problem_at(4), Reports("\"bad\"")));
}

TEST_F(Csv, shows_unprintable_bytes_in_hexadecimal) {
  EXPECT_THAT(problem(std::string("x,kind\n\xff\0,a\n2,b\n", 15)),
              AllOf(problem_at(2), Reports("\"\\xff\\x00\"")));
  EXPECT_THAT(problem("x,kind\n1,a\n größe,b\n"), Reports("\"größe\""));
}

TEST_F(Csv, refuses_lines_with_another_number_of_fields) {
  EXPECT_THAT(problem("x,y,kind\n1,2,a\n3,b\n"),
              AllOf(problem_at(3), Reports("2 fields"), Accepts("3")));
  EXPECT_THAT(problem("x,kind\n1,a,\n"), AllOf(problem_at(2), Reports("3 fields"), Accepts("2")));
}

TEST_F(Csv, refuses_too_many_columns) {
  EXPECT_THAT(problem(std::string(3'000'000, ',') + "x"),
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

// The manual (training.md, "Samples of a file") has a program that computes this order.
TEST(FileSplit, order_is_that_of_the_manual) {
  DataSpec spec;
  spec.seed = 7, spec.train_samples = 8, spec.held_out_samples = 3;
  const auto split = FileSplit::make(spec, 12, "points.csv");
  ASSERT_TRUE(split);
  EXPECT_THAT(split->rows(Split::train), testing::ElementsAre(4, 9, 5, 11, 0, 6, 8, 1));
  EXPECT_THAT(split->rows(Split::held_out), testing::ElementsAre(2, 3, 7));
}

}  // namespace
}  // namespace trainyard::data
