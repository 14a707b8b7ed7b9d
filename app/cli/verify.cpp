// SPDX-License-Identifier: GPL-3.0-or-later
// verify: recomputes what the result of a run states, and compares.
#include "core/session/verify/verify.h"

#include <fmt/core.h>

#include <cstdio>

#include "app/cli/verbs.h"
#include "app/devices.h"
#include "core/base/json.h"
#include "core/base/names.h"
#include "core/base/printable.h"
#include "core/base/units.h"

namespace trainyard::cli {
namespace {

using base::Json;
using session::CheckStatus;
using session::FigureCheck;
using session::Verification;

struct VerifyArguments {
  std::string directory;
  bool json = false;
};

Json check_json(const FigureCheck& check) {
  return {{"type", "check"},
          {"name", check.name},
          {"status", base::name_of(check.status)},
          {"stated", check.stated},
          {"recomputed", check.recomputed},
          {"note", check.note}};
}

Json result_json(const Verification& verification) {
  Json json{{"type", "result"},
            {"status", "completed"},
            {"matches", verification.matches()},
            {"ok", verification.count(CheckStatus::ok)},
            {"mismatches", verification.count(CheckStatus::mismatch)},
            {"not_checked", verification.count(CheckStatus::not_checked)}};
  if (!verification.damage.empty()) json["damage"] = verification.damage;
  return json;
}

const char* status_text(CheckStatus status) {
  return status == CheckStatus::ok         ? "ok"
         : status == CheckStatus::mismatch ? "MISMATCH"
                                           : "not checked";
}

std::string value_text(const Json& value) {
  if (value.is_null()) return "-";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void print_check(const FigureCheck& check) {
  std::string text = fmt::format("{:<11}  {:<26}", status_text(check.status), check.name);
  if (!check.stated.is_null()) text += fmt::format("  stated {}", value_text(check.stated));
  if (check.status != CheckStatus::not_checked)
    text += fmt::format("  recomputed {}", value_text(check.recomputed));
  if (!check.note.empty()) text += fmt::format("  ({})", check.note);
  std::printf("%s\n", base::printable(text).c_str());
}

void print_total(const Verification& verification) {
  const auto count = [&](CheckStatus status) {
    return base::format_count(verification.count(status));
  };
  std::printf(
      "%s: %s ok, %s, %s not checked\n",
      base::counted(std::ssize(verification.checks), "check").c_str(),
      count(CheckStatus::ok).c_str(),
      base::counted(verification.count(CheckStatus::mismatch), "mismatch", "mismatches").c_str(),
      count(CheckStatus::not_checked).c_str());
}

int run_verify(const VerifyArguments& arguments) {
  if (const auto run = expect_run(arguments.directory); !run)
    return complain({run.error()}, arguments.json);
  const auto verification = session::verify_run(arguments.directory, app::make_compute);
  if (!verification) return complain({verification.error()}, arguments.json);
  for (const FigureCheck& check : verification->checks)
    if (arguments.json) print_json(check_json(check));
    else print_check(check);
  if (arguments.json) print_json(result_json(*verification));
  else print_total(*verification);
  return verification->matches() ? 0 : 3;
}

}  // namespace

void add_verify(Verb& program) {
  Verb verb = program.add_verb(
      "verify", "Recompute what the result of a run states, from its recording and checkpoint");
  VerifyArguments& arguments = verb.on_run(run_verify);
  verb.option("run_directory", arguments.directory, "Run directory").required().type_name("DIR");
  verb.json_flag(arguments.json);
  verb.examples(
      "Examples:\n"
      "  trainyard-cli verify RUN_DIRECTORY\n"
      "  trainyard-cli verify RUN_DIRECTORY --json\n"
      "Exit code 3: a figure differs, or the recording or the checkpoint is damaged. Figures that "
      "cannot be recomputed are listed as not checked, with the reason.");
}

}  // namespace trainyard::cli
