// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/digit_glyphs.h"

#include <array>
#include <cstdint>

namespace trainyard::data {
namespace {

Stroke line(std::vector<Point> points) { return {Stroke::Kind::straight, std::move(points)}; }
Stroke curve(std::vector<Point> points) { return {Stroke::Kind::smooth, std::move(points)}; }

std::vector<Glyph> zeros() {
  return {{curve({{.50f, .00f},
                  {.22f, .12f},
                  {.10f, .50f},
                  {.22f, .88f},
                  {.50f, 1.0f},
                  {.78f, .88f},
                  {.90f, .50f},
                  {.78f, .12f},
                  {.50f, .00f}})},
          {curve({{.62f, .02f},
                  {.36f, .14f},
                  {.22f, .50f},
                  {.28f, .88f},
                  {.46f, 1.0f},
                  {.68f, .82f},
                  {.76f, .42f},
                  {.68f, .10f},
                  {.50f, .03f}})}};
}

std::vector<Glyph> ones() {
  return {{line({{.50f, .00f}, {.50f, 1.0f}})},
          {line({{.28f, .26f}, {.54f, .00f}, {.54f, 1.0f}})},
          {line({{.30f, .22f}, {.52f, .00f}, {.52f, 1.0f}}), line({{.26f, 1.0f}, {.78f, 1.0f}})}};
}

std::vector<Glyph> twos() {
  return {{curve({{.14f, .24f},
                  {.32f, .04f},
                  {.62f, .00f},
                  {.82f, .20f},
                  {.72f, .46f},
                  {.42f, .76f},
                  {.12f, 1.0f}}),
           line({{.12f, 1.0f}, {.88f, 1.0f}})},
          {curve({{.16f, .18f},
                  {.42f, .00f},
                  {.74f, .10f},
                  {.76f, .38f},
                  {.52f, .74f},
                  {.26f, .98f},
                  {.12f, .88f},
                  {.26f, .76f},
                  {.54f, .92f},
                  {.92f, .98f}})}};
}

std::vector<Glyph> threes() {
  return {{curve({{.14f, .12f}, {.45f, .00f}, {.78f, .12f}, {.74f, .36f}, {.40f, .47f}}),
           curve({{.40f, .47f}, {.78f, .56f}, {.86f, .80f}, {.52f, 1.0f}, {.12f, .88f}})},
          {line({{.14f, .00f}, {.82f, .00f}, {.44f, .40f}}),
           curve({{.44f, .40f}, {.80f, .50f}, {.86f, .82f}, {.50f, 1.0f}, {.12f, .88f}})}};
}

std::vector<Glyph> fours() {
  return {{line({{.66f, 1.0f}, {.66f, .00f}, {.10f, .68f}, {.92f, .68f}})},
          {line({{.22f, .00f}, {.14f, .54f}, {.88f, .54f}}), line({{.76f, .06f}, {.72f, 1.0f}})}};
}

std::vector<Glyph> fives() {
  return {
      {line({{.82f, .00f}, {.26f, .00f}, {.20f, .42f}}),
       curve({{.20f, .42f}, {.54f, .36f}, {.84f, .55f}, {.80f, .86f}, {.50f, 1.0f}, {.12f, .90f}})},
      {line({{.28f, .02f}, {.88f, .06f}}),
       curve(
           {{.28f, .02f}, {.22f, .40f}, {.60f, .44f}, {.80f, .70f}, {.54f, 1.0f}, {.16f, .94f}})}};
}

std::vector<Glyph> sixes() {
  return {{curve({{.76f, .02f},
                  {.40f, .20f},
                  {.16f, .60f},
                  {.26f, .92f},
                  {.55f, 1.0f},
                  {.82f, .82f},
                  {.74f, .56f},
                  {.46f, .52f},
                  {.20f, .72f}})},
          {curve({{.58f, .00f},
                  {.30f, .36f},
                  {.20f, .72f},
                  {.38f, .98f},
                  {.66f, .94f},
                  {.74f, .72f},
                  {.54f, .58f},
                  {.26f, .72f}})}};
}

std::vector<Glyph> sevens() {
  return {{line({{.12f, .00f}, {.88f, .00f}, {.42f, 1.0f}})},
          {line({{.12f, .00f}, {.88f, .00f}, {.42f, 1.0f}}), line({{.32f, .50f}, {.84f, .50f}})},
          {line({{.12f, .18f}, {.14f, .00f}, {.88f, .00f}}),
           curve({{.88f, .00f}, {.62f, .40f}, {.52f, 1.0f}})}};
}

std::vector<Glyph> eights() {
  return {{curve({{.50f, .46f},
                  {.22f, .32f},
                  {.24f, .08f},
                  {.50f, .00f},
                  {.76f, .08f},
                  {.78f, .32f},
                  {.50f, .46f}}),
           curve({{.50f, .46f},
                  {.16f, .66f},
                  {.20f, .92f},
                  {.50f, 1.0f},
                  {.80f, .92f},
                  {.84f, .66f},
                  {.50f, .46f}})},
          {curve({{.80f, .12f},
                  {.50f, .00f},
                  {.20f, .15f},
                  {.35f, .41f},
                  {.70f, .60f},
                  {.82f, .85f},
                  {.50f, 1.0f},
                  {.18f, .85f},
                  {.32f, .60f},
                  {.66f, .40f},
                  {.80f, .12f}})}};
}

std::vector<Glyph> nines() {
  return {{curve({{.80f, .22f},
                  {.64f, .46f},
                  {.32f, .48f},
                  {.18f, .24f},
                  {.36f, .02f},
                  {.66f, .02f},
                  {.80f, .22f}}),
           line({{.80f, .22f}, {.72f, 1.0f}})},
          {curve({{.80f, .24f},
                  {.62f, .48f},
                  {.32f, .48f},
                  {.18f, .24f},
                  {.36f, .02f},
                  {.66f, .02f},
                  {.81f, .24f},
                  {.82f, .64f},
                  {.62f, .96f},
                  {.24f, .94f}})}};
}

}  // namespace

const std::vector<Glyph>& glyphs_of(int digit) {
  static const std::array<std::vector<Glyph>, 10> glyphs{
      zeros(), ones(), twos(), threes(), fours(), fives(), sixes(), sevens(), eights(), nines()};
  return glyphs[static_cast<std::size_t>(digit)];
}

}  // namespace trainyard::data
