"""A lamp on an ESP32: the LED at a pin. MicroPython runs this file after each start of the board."""

import network
from machine import PWM, Pin
from time import sleep

from connection import connect_forever
from device import Device
from lamp import lamp_services

WIFI = ("my network", "its password")
GATEWAY = ("192.168.1.10", 7071)
TOKEN = "the token of the gateway"
LED_PIN = 2

led = PWM(Pin(LED_PIN), freq=1000, duty_u16=0)

wlan = network.WLAN(network.STA_IF)
wlan.active(True)
wlan.connect(*WIFI)
while not wlan.isconnected():
    sleep(1)

services = lamp_services(lambda percent: led.duty_u16(percent * 65535 // 100))
connect_forever(Device("lamp", TOKEN, services), *GATEWAY)
