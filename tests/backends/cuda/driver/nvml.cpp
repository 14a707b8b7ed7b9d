// SPDX-License-Identifier: GPL-3.0-or-later
// Stand-in of the driver's libnvidia-ml.so.1: one GPU, whose utilization increases with every
// reading, and which reports no power. Each reading adds traffic to its NVLinks.
#include <atomic>
#include <cstring>

extern "C" {

static std::atomic<unsigned> looks = 0;
static std::atomic<int> users = 0;
static int gpu = 0;

int nvmlInit_v2() { return ++users, 0; }
int nvmlShutdown() { return --users, 0; }
int users_of_nvml() { return users; }
const char* nvmlErrorString(int error) { return error == 6 ? "Not Found" : "Unknown Error"; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  if (std::strcmp(bus, "0000:3b:00.0") != 0) return 6;
  *device = &gpu;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* percent) {
  return percent[0] = ++looks, percent[1] = 0, 0;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* bytes) {
  return bytes[0] = 100, bytes[1] = 58, bytes[2] = 42, 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned*) { return 3; }
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) { return *generation = 5, 0; }
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* lanes) { return *lanes = 16, 0; }
// Three links, of which the second is down.
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* is_up) {
  return *is_up = link != 1 ? 1 : 0, link < 3 ? 0 : 2;
}
int nvmlDeviceGetPcieThroughput(void*, int counter, unsigned* kilobytes) {
  return *kilobytes = counter == 0 ? 7 : 9, 0;
}

struct Field {
  unsigned id, scope;
  long long timestamp, latency;
  int type, error;
  unsigned long long value;
};
static_assert(sizeof(Field) == 40, "as the driver's header lays it out");

int nvmlDeviceGetFieldValues(void*, int count, Field* fields) {
  static std::atomic<unsigned long long> crossed = 1'000'000;
  crossed += 1000;
  for (int i = 0; i < count; ++i) {
    const bool known = fields[i].scope == ~0U && (fields[i].id == 138 || fields[i].id == 139);
    fields[i].error = known ? 0 : 3;
    fields[i].value = fields[i].id == 138 ? crossed.load() : 2 * crossed.load();
  }
  return 0;
}

}  // extern "C"
