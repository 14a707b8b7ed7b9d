// SPDX-License-Identifier: GPL-3.0-or-later
// The checks of a plan, one file each, and their input.
#pragma once

#include <map>

#include "core/check/check.h"
#include "core/plan/dry_run.h"

namespace trainyard::check {

struct Scope {
  std::vector<plan::Group> groups;
  plan::Schedule schedule;
  std::vector<plan::RankPlan> ranks;
  // symbolic execution (rehearsal) of all ranks; set after the structure is checked
  plan::DryRun run;

  const plan::RankPlan& rank(std::int32_t number) const {
    return ranks[static_cast<std::size_t>(number)];
  }
  const plan::Program& program(const plan::DryRun::At& at) const {
    return rank(at.rank).programs[static_cast<std::size_t>(run.program(at.rank, run.place(at)))];
  }
  const plan::Op& op(const plan::DryRun::At& at) const {
    return program(at).ops[static_cast<std::size_t>(run.place(at).op)];
  }
};

// Location of a finding.
struct FindingLocation {
  std::int32_t rank = -1;
  std::string program;  // empty: the location is the full rank
  int op = -1;          // index in the program; -1: the full program
};

// Collects the first few findings of each proof, and counts all further ones.
class Findings {
 public:
  explicit Findings(const Scope& scope) : scope_(scope) {}
  void add(Proof proof, const FindingLocation& location, const std::string& what,
           std::string accepted, std::string advice);
  void add(Proof proof, const plan::DryRun::At& at, const std::string& what, std::string accepted,
           std::string advice);
  bool empty() const { return list_.empty(); }
  bool any(Proof proof) const { return counts_.contains(proof); }
  bool full(Proof proof) const;
  std::vector<Finding> take();  // the last finding of a proof says how many were omitted

 private:
  const Scope& scope_;
  std::vector<Finding> list_;
  std::map<Proof, int> counts_;
};

// Returns for each rank the index of the first instance of `program` in the rehearsal; -1 if the
// rehearsal does not contain the program.
std::vector<std::int32_t> first_instances(const Scope& scope, const std::string& program);

// returns a text such as "grads[100:200]"
std::string range_text(const plan::RankPlan& rank, const plan::Access& access);
std::int64_t bytes_of(const plan::RankPlan& rank, const std::vector<plan::Access>& accesses);

void prove_structure(const Scope& scope, Findings& findings);
void prove_order(const Scope& scope, Findings& findings);
void prove_no_deadlock(const Scope& scope, Findings& findings);
void prove_matching(const Scope& scope, Findings& findings);
void prove_no_races(const Scope& scope, Findings& findings);
bool has_casting(const Scope& scope);
void prove_casting(const Scope& scope, Findings& findings);
// Replaces reads of cast values by reads of their source, as later checks expect.
Scope without_casts(Scope scope);
void prove_meaning(const Scope& scope, Findings& findings);
void prove_micro_steps(const Scope& scope, Findings& findings);
bool has_mixing(const Scope& scope);
void prove_mixing(const Scope& scope, Findings& findings);
void prove_averaging(const Scope& scope, Findings& findings);
// For ranks with local parameters: checks that every rank contributes each element of its
// parameters with weight 1/n to the mean that `program` computes.
void prove_mean(const Scope& scope, const std::string& program, Proof proof, Findings& findings);
bool has_gossip_pairs(const Scope& scope);
void prove_gossip_pairs(const Scope& scope, Findings& findings);
// True if, in this program, ranks send outputs of layers to the ranks that have later layers.
bool splits_layers(const Scope& scope, const std::string& program);
bool has_stages(const Scope& scope);
// True if each rank updates, or keeps, only a shard of the parameters.
bool shares_parameters(const Scope& scope);
void prove_sharding(const Scope& scope, Findings& findings);
void prove_passing(const Scope& scope, Findings& findings);
bool has_recomputation(const Scope& scope);
void prove_recomputing(const Scope& scope, Findings& findings);
bool has_versions(const Scope& scope);
void prove_versions(const Scope& scope, Findings& findings);
bool has_offloading(const Scope& scope);
// checks only that copies are well-formed; assumes that all numbers in the plan are in range
void prove_copies(const Scope& scope, Findings& findings);
void prove_offloading(const Scope& scope, Findings& findings);
bool has_servers(const Scope& scope);
void prove_serving(const Scope& scope, Findings& findings);
std::vector<ProgramTraffic> traffic(const Scope& scope);
std::vector<Memory> memory(const Scope& scope);

}  // namespace trainyard::check
