// SPDX-License-Identifier: GPL-3.0-or-later
// Environment variables in the process of a rank: for its libraries (OpenMP, OpenBLAS, oneDNN), and
// its place in the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::session {

// Returns the variables for a device. OpenBLAS starts only as many threads as the device has cores.
// A device with several cores computes in OpenMP regions of oneDNN and of our loops. Between
// regions, idle threads of libgomp would spin for milliseconds. That would take time from peers on
// the same cores and from other threads of the rank, and delay the all-reduce. With these
// variables, idle threads sleep immediately. Example: two ranks of two cores each, on two cores,
// take 5 ms per step instead of 53 ms. OpenBLAS's idle threads yield while they spin; making them
// sleep sooner had no effect.
std::vector<std::string> thread_settings(std::int64_t cores);

// Returns the variables that limit our loops, oneDNN and OpenBLAS to the instructions of an x86-64
// level (base::cpu_level), so that CPUs of several kinds compute the same bits; none for level 0.
// Sources: oneDNN, "CPU Dispatcher Control"; OpenBLAS, "Runtime variables".
std::vector<std::string> cpu_level_settings(int level);

// Returns those variables of this process ("NAME=VALUE") that choose the kernels of OpenBLAS and
// oneDNN, or their block sizes, and so how sums are rounded. Ranks on all machines need equal ones.
std::vector<std::string> kernel_settings();

// Sets these variables for the processes that this process starts, and removes those that
// `settings` lack. Ignores all other variables, and values with other characters than letters,
// digits and underscores, because the settings may come from another machine.
void apply_kernel_settings(const std::vector<std::string>& settings);

// Place of a rank among all ranks, and among those of its host.
struct RankPlace {
  std::int32_t rank = 0, local_rank = 0, world = 1;
};
// `hosts`: host of each rank.
RankPlace place_of(int rank, const std::vector<int>& hosts);

// Returns RANK, LOCAL_RANK and WORLD_SIZE, with the meaning that torchrun gives them.
// Source: https://pytorch.org/docs/stable/elastic/run.html, "Environment Variables".
std::vector<std::string> place_variables(const RankPlace& place);

}  // namespace trainyard::session
