// SPDX-License-Identifier: GPL-3.0-or-later
// Icons of the workbench: monochrome SVGs of 24 x 24 px with one stroke width. The theme determines
// their color when they are painted.
#pragma once

#include <QColor>
#include <QIcon>
#include <QPixmap>
#include <QString>

class QPainter;
class QRectF;

namespace trainyard::ui {

// Returns the icon resources/icons/`name`.svg. Its color follows the theme; the icon of a checked
// button has the accent color.
QIcon icon(const QString& name);

// Paints an icon in the given color.
void paint_icon(QPainter& painter, const QString& name, const QRectF& where, const QColor& color);

}  // namespace trainyard::ui
