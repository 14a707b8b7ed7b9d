// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/admission.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace trainyard::session {

using base::Problem;
using base::ProblemCode;

namespace {

// The name is part of addresses (joined:NAME), and is printed.
bool is_plain(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char character) {
    return std::isalnum(character) != 0 ||
           std::string_view("-_.").find(static_cast<char>(character)) != std::string_view::npos;
  });
}

}  // namespace

void Admission::issue(IssuedInvitation invitation) {
  const std::lock_guard lock(mutex_);
  invitations_.push_back(std::move(invitation));
}

bool Admission::withdraw(const std::string& code) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(invitations_, [&](const auto& one) { return one.code == code; }) > 0;
}

std::vector<IssuedInvitation> Admission::invitations(std::int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  std::vector<IssuedInvitation> valid;
  std::ranges::copy_if(invitations_, std::back_inserter(valid), [&](const auto& one) {
    return one.machines > 0 && one.expires_ns > now_ns;
  });
  return valid;
}

void Admission::forget_old(std::int64_t now_ns) {
  std::erase_if(invitations_,
                [&](const auto& one) { return one.machines <= 0 || one.expires_ns <= now_ns; });
  std::erase_if(machines_, [&](const auto& one) { return one.second.expires_ns <= now_ns; });
  for (auto& [address, times] : wrong_)
    std::erase_if(times, [&](std::int64_t time) { return now_ns - time >= kWrongKeySpan; });
  std::erase_if(wrong_, [](const auto& one) { return one.second.empty(); });
}

bool Admission::admits(const std::string& key, const std::string& address, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  forget_old(now_ns);
  if (machines_.contains(key)) return true;
  const auto wrong = wrong_.find(address);
  const bool is_blocked = wrong != wrong_.end() && std::ssize(wrong->second) >= kWrongKeys;
  if (!is_blocked &&
      std::ranges::any_of(invitations_, [&](const auto& one) { return one.key == key; }))
    return true;
  if (!is_blocked && (wrong != wrong_.end() || wrong_.size() < kMaxAddresses))
    wrong_[address].push_back(now_ns);
  return false;
}

bool Admission::is_machine(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return machines_.contains(key);
}

std::string Admission::unique_name(const std::string& name) const {
  const auto is_taken = [&](const std::string& one) {
    return std::ranges::any_of(machines_,
                               [&](const auto& each) { return each.second.request.name == one; });
  };
  std::string unique = name;
  for (int number = 2; is_taken(unique); ++number) unique = fmt::format("{}-{}", name, number);
  return unique;
}

base::Result<JoinedMachine> Admission::join(const std::string& key, const std::string& machine_key,
                                            const std::string& address, JoinRequest request,
                                            std::int64_t now_ns) {
  if (!is_plain(request.name))
    return base::fail(Problem{"bad_machine_name", ProblemCode::bad_input, "",
                              "this is not the name of a machine",
                              "letters, digits, '-', '_' and '.'", "Choose another --name."});
  const std::lock_guard lock(mutex_);
  forget_old(now_ns);
  const auto invitation =
      std::ranges::find_if(invitations_, [&](const auto& one) { return one.key == key; });
  if (invitation == invitations_.end())
    return base::fail(Problem{"invitation_used", ProblemCode::refused, request.name,
                              "the invitation expired, was withdrawn, or admitted all its machines",
                              "", "Ask for a new invitation: trainyard-cli hosts listen."});
  if (machines_.size() >= kMaxMachines)
    return base::fail(Problem{"too_many_machines", ProblemCode::refused, request.name,
                              fmt::format("the listener has {} machines", machines_.size()),
                              fmt::format("at most {}", kMaxMachines),
                              "Remove machines with trainyard-cli hosts remove."});
  --invitation->machines;
  request.name = unique_name(request.name);
  const std::int64_t expires =
      now_ns + static_cast<std::int64_t>(std::min(request.seconds, 1e9) * 1e9);
  return machines_
      .insert_or_assign(machine_key,
                        JoinedMachine{std::move(request), machine_key, address, expires})
      .first->second;
}

std::vector<JoinedMachine> Admission::machines(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  forget_old(now_ns);
  std::vector<JoinedMachine> all;
  for (const auto& [key, machine] : machines_) all.push_back(machine);
  return all;
}

bool Admission::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(machines_,
                       [&](const auto& one) { return one.second.request.name == name; }) > 0;
}

void Admission::remove_key(const std::string& key) {
  const std::lock_guard lock(mutex_);
  machines_.erase(key);
}

}  // namespace trainyard::session
