// SPDX-License-Identifier: GPL-3.0-or-later
// The JSON Schema of experiment documents, checked with an independent validator.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/experiment/document.h"
#include "tests/core/experiment/golden.h"

namespace trainyard::experiment {
namespace {

using valijson::adapters::NlohmannJsonAdapter;

class DocumentSchema : public testing::Test {
 protected:
  DocumentSchema() : json_(nlohmann::json::parse(schema().dump())) {
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(NlohmannJsonAdapter(json_), schema_);
  }

  // Returns the errors of the schema for the document; empty if it is valid.
  std::string complaint(const std::string& text) {
    const auto document = nlohmann::json::parse(text);
    valijson::Validator validator;
    valijson::ValidationResults results;
    if (validator.validate(schema_, NlohmannJsonAdapter(document), &results)) return "";
    valijson::ValidationResults::Error error;
    std::string complaint = "invalid";
    while (results.popError(error)) {
      for (const std::string& step : error.context) complaint += step;
      complaint += ": " + error.description + "\n";
    }
    return complaint;
  }

 private:
  nlohmann::json json_;
  valijson::Schema schema_;
};

TEST_F(DocumentSchema, accepts_every_example) {
  int examples = 0;
  for (const auto& file : std::filesystem::directory_iterator(in_tree("resources/experiments"))) {
    if (file.path().extension() != ".json") continue;
    EXPECT_EQ(complaint(base::read_file(file.path(), 1 << 20).value()), "") << file.path();
    ++examples;
  }
  EXPECT_GT(examples, 20);
}

TEST_F(DocumentSchema, refuses_invalid_documents) {
  for (const char* text : {
           R"({})",
           R"({"version": 1})",
           R"({"version": 3})",
           R"({"version": 2, "colour": 3})",
           R"({"version": 2, "training": {"batch_per_rank": 0}})",
           R"({"version": 2, "model": {"layers": [{"kind": "relu", "heads": 4}]}})",
           R"({"version": 2, "model": {"layers": [{"heads": 4}]}})",
           R"({"version": 2, "strategy": {"gossip": {"graph": "torus"}}})",
           R"({"version": 2, "topology": {"hosts": [{"name": "h", "devices": [
               {"name": "cpu", "count": 0}]}]}})",
       }) {
    EXPECT_NE(complaint(text), "") << text;
  }
}

TEST_F(DocumentSchema, accepts_the_keys_of_a_kind) {
  for (const char* text : {
           R"({"version": 2})",
           R"({"version": 2, "model": {"layers": [{"kind": "attention", "heads": 4}]}})",
           R"({"version": 2, "model": {"layers": [{"units": 4}]}})",
           R"({"version": 2, "strategy": {"kind": "gossip", "gossip": {"graph": "torus"}}})",
           R"({"version": 2, "topology": {"hosts": [{"name": "h", "devices": [
               {"name": "cpu", "count": 4}]}]}})",
       }) {
    EXPECT_EQ(complaint(text), "") << text;
  }
}

}  // namespace
}  // namespace trainyard::experiment
