// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/qr_code.h"

#include <qrencode.h>

#include <memory>

namespace trainyard::cli {

std::vector<std::string> qr_code(const std::string& text) {
  constexpr int kSmallestVersion = 0, kCaseSensitive = 1;
  const std::unique_ptr<QRcode, void (*)(QRcode*)> code(
      QRcode_encodeString(text.c_str(), kSmallestVersion, QR_ECLEVEL_M, QR_MODE_8, kCaseSensitive),
      QRcode_free);
  std::vector<std::string> rows;
  for (int y = 0; code && y < code->width; ++y) {
    std::string& row = rows.emplace_back();
    for (int x = 0; x < code->width; ++x)
      row += (code->data[y * code->width + x] & 1) != 0 ? '1' : '0';
  }
  return rows;
}

std::string terminal_text_of(const std::vector<std::string>& modules) {
  constexpr int kMargin = 4;
  const int side = static_cast<int>(modules.size());
  const auto is_light = [&](int x, int y) {
    return x < 0 || y < 0 || x >= side || y >= side ||
           modules[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] == '0';
  };
  std::string text;
  for (int y = -kMargin; y < side + kMargin; y += 2) {
    for (int x = -kMargin; x < side + kMargin; ++x) {
      const bool upper = is_light(x, y), lower = is_light(x, y + 1);
      text += upper && lower ? "█" : upper ? "▀" : lower ? "▄" : " ";
    }
    text += "\n";
  }
  return text;
}

}  // namespace trainyard::cli
