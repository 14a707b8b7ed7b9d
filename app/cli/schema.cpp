// SPDX-License-Identifier: GPL-3.0-or-later
// schema: the JSON Schema of experiment documents, for editors that complete and check JSON.
#include <cstdio>

#include "app/cli/verbs.h"
#include "core/base/json.h"
#include "core/experiment/document.h"

namespace trainyard::cli {

namespace {

struct SchemaArguments {};

int run_schema(const SchemaArguments& /*arguments*/) {
  const std::string text = base::to_text(experiment::schema(), 2) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

void add_schema(Verb& program) {
  Verb verb = program.add_verb("schema", "Print the JSON Schema of experiment documents");
  static_cast<void>(verb.on_run(run_schema));
  verb.examples("Example:\n  trainyard-cli schema > experiment.schema.json");
}

}  // namespace trainyard::cli
